// Operators whose results have as many elements as their inputs say. A Program's shapes do not
// depend on numbers, so the inputs that decide must be known when a model is imported.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "onnx/importer.h"
#include "onnx/ops/operators.h"
#include "onnx/ops/slices.h"
#include "onnx/tensor.h"
#include "trireme/functions.h"
#include "trireme/indexing.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Value integers_of(NodeContext& n, const Integers& numbers) {
  Item item;
  item.known = Tensor::from({static_cast<std::int64_t>(numbers.size())}, numbers);
  return n.importer().value_of(item);
}

void import_compress(NodeContext& n) {
  Value x = n.value(0);
  const Integers condition = n.known_integers(1, "which elements it keeps");
  int axis = 0;
  if (n.attribute("axis") != nullptr) axis = n.axis(n.integer("axis"), x.rank());
  else x = reshape(x, {.shape = {product(x.shape())}});
  Integers kept;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) kept.push_back(static_cast<std::int64_t>(i));
  }
  const Dim& size = x.dim(axis);
  n.require(kept.empty() || !size.is_constant() || kept.back() < size.constant(),
            "its condition is longer than its axis");
  n.set(0, gather(x, integers_of(n, kept), {.axis = axis}));
}

// The indices of each element that is not 0, in row-major order: [rank, count].
void import_nonzero(NodeContext& n) {
  const Tensor& x = n.known(0, "what it selects");
  const Tensor numbers = x.cast(f64);
  const auto rank = static_cast<std::size_t>(x.rank());
  std::vector<Integers> found(rank);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    if (numbers.data<double>()[i] == 0) continue;
    ++count;
    std::int64_t rest = i;
    for (std::size_t axis = rank; axis-- > 0;) {
      found[axis].push_back(rest % x.shape()[axis]);
      rest /= x.shape()[axis];
    }
  }
  Integers all;
  for (const Integers& one : found) all.insert(all.end(), one.begin(), one.end());
  n.set_known(0, Tensor::from({static_cast<std::int64_t>(rank), count}, all));
}

// --- Unique ------------------------------------------------------------------------------------

// The slices of an axis, each as a list of numbers.
std::vector<std::vector<double>> slices_of(const Tensor& x, std::int64_t outer, std::int64_t size,
                                           std::int64_t inner) {
  std::vector<std::vector<double>> slices(static_cast<std::size_t>(size));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t k = 0; k < inner; ++k) {
        slices[static_cast<std::size_t>(i)].push_back(x.data<double>()[(o * size + i) * inner + k]);
      }
    }
  }
  return slices;
}

void import_unique(NodeContext& n) {
  const Tensor& x = n.known(0, "what it compares");
  const bool along = n.attribute("axis") != nullptr;
  const int axis = along ? n.axis(n.integer("axis"), x.rank()) : 0;
  std::int64_t outer = 1, inner = 1, size = x.elements();
  if (along) {
    size = x.dim(axis);
    for (int i = 0; i < axis; ++i) outer *= x.dim(i);
    for (int i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
  }
  const auto slices = slices_of(x.cast(f64), outer, size, inner);
  std::map<std::vector<double>, Integers> groups;  // in ascending order
  for (std::size_t i = 0; i < slices.size(); ++i)
    groups[slices[i]].push_back(static_cast<std::int64_t>(i));
  std::vector<Integers> ordered;
  for (const auto& [slice, places] : groups) ordered.push_back(places);
  if (n.integer("sorted", 1) == 0)
    std::sort(ordered.begin(), ordered.end(),
              [](const Integers& a, const Integers& b) { return a[0] < b[0]; });
  Integers first, counts, inverse(slices.size());
  for (const Integers& places : ordered) {
    for (const std::int64_t place : places)
      inverse[static_cast<std::size_t>(place)] = static_cast<std::int64_t>(first.size());
    first.push_back(places[0]);
    counts.push_back(static_cast<std::int64_t>(places.size()));
  }
  const Value given = n.value(0);
  const Value from = along ? given : reshape(given, {.shape = {x.elements()}});
  n.set(0, gather(from, integers_of(n, first), {.axis = axis}));
  const auto count = static_cast<std::int64_t>(first.size());
  n.set_known(1, Tensor::from({count}, first));
  n.set_known(2, Tensor::from({static_cast<std::int64_t>(inverse.size())}, inverse));
  n.set_known(3, Tensor::from({count}, counts));
}

// --- Boxes -------------------------------------------------------------------------------------

struct Box {
  float low_x, high_x, low_y, high_y;
  float area() const { return (high_x - low_x) * (high_y - low_y); }
};

Box box_of(const float* p, bool by_center) {
  if (by_center) return {p[0] - p[2] / 2, p[0] + p[2] / 2, p[1] - p[3] / 2, p[1] + p[3] / 2};
  return {std::min(p[1], p[3]), std::max(p[1], p[3]), std::min(p[0], p[2]), std::max(p[0], p[2])};
}

bool overlap(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.high_x, b.high_x) - std::max(a.low_x, b.low_x);
  const float height = std::min(a.high_y, b.high_y) - std::max(a.low_y, b.low_y);
  if (!(width > 0 && height > 0)) return false;
  const float common = width * height, all = a.area() + b.area() - common;
  return a.area() > 0 && b.area() > 0 && all > 0 && common / all > threshold;
}

// The best boxes of each class, without those that overlap a better one: [count, 3] of batch,
// class and box.
void import_non_max_suppression(NodeContext& n) {
  const Tensor boxes = n.known(0, "what it compares"), scores = n.known(1, "what it compares");
  n.require(boxes.rank() == 3 && scores.rank() == 3 && boxes.dim(2) == 4 &&
                boxes.dim(0) == scores.dim(0) && boxes.dim(1) == scores.dim(2),
            "its boxes are " + boxes.type_str() + " and its scores " + scores.type_str());
  const auto number = [&](std::size_t i, double otherwise) {
    return n.has(i) ? n.known_number(i, "a limit") : otherwise;
  };
  const double most = number(2, 0);
  const auto threshold = static_cast<float>(number(3, 0));
  const auto least = static_cast<float>(number(4, -kInfinity));
  const bool by_center = n.integer("center_point_box", 0) != 0;
  const std::int64_t count = boxes.dim(1);
  Integers selected;
  for (std::int64_t batch = 0; batch < boxes.dim(0); ++batch) {
    for (std::int64_t c = 0; c < scores.dim(1); ++c) {
      const float* score = scores.data<float>() + (batch * scores.dim(1) + c) * count;
      Integers order;
      for (std::int64_t i = 0; i < count; ++i) {
        if (score[i] > least) order.push_back(i);
      }
      std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return score[a] > score[b] || (score[a] == score[b] && a < b);
      });
      std::vector<Box> kept;
      for (const std::int64_t i : order) {
        if (static_cast<double>(kept.size()) >= most) break;
        const Box box = box_of(boxes.data<float>() + (batch * count + i) * 4, by_center);
        if (std::any_of(kept.begin(), kept.end(),
                        [&](const Box& k) { return overlap(k, box, threshold); }))
          continue;
        kept.push_back(box);
        selected.insert(selected.end(), {batch, c, i});
      }
    }
  }
  n.set_known(0, Tensor::from({static_cast<std::int64_t>(selected.size() / 3), 3}, selected));
}

// --- n-grams -----------------------------------------------------------------------------------

// Counts n-grams of integers, whose elements may stand up to max_skip_count + 1 places apart.
void import_tfidf(NodeContext& n) {
  const Integers pool = n.integers("pool_int64s"), starts = n.integers("ngram_counts"),
                 places = n.integers("ngram_indexes");
  n.require(n.attribute("pool_strings") == nullptr, "its n-grams are of texts");
  const std::int64_t shortest = n.integer("min_gram_length"),
                     longest = n.integer("max_gram_length"), skips = n.integer("max_skip_count");
  std::map<Integers, std::int64_t> grams;  // the place of each n-gram in the result
  std::size_t id = 0;
  for (std::size_t size = 1; size <= starts.size(); ++size) {
    const auto end = size < starts.size() ? static_cast<std::size_t>(starts[size]) : pool.size();
    for (auto at = static_cast<std::size_t>(starts[size - 1]);
         at + size <= end && end <= pool.size(); at += size, ++id) {
      n.require(id < places.size(), "its ngram_indexes are too short");
      const auto length = static_cast<std::int64_t>(size);
      if (length < shortest || length > longest) continue;
      grams[Integers(pool.begin() + static_cast<std::ptrdiff_t>(at),
                     pool.begin() + static_cast<std::ptrdiff_t>(at + size))] = places[id];
    }
  }
  const Tensor& x = n.known(0, "what it counts");
  const Integers numbers = n.known_integers(0, "what it counts");
  const std::int64_t width =
      places.empty() ? 0 : *std::max_element(places.begin(), places.end()) + 1;
  n.require(x.rank() <= 2 &&
                std::all_of(places.begin(), places.end(), [](std::int64_t p) { return p >= 0; }),
            "its input is " + x.type_str());
  const std::int64_t rows = x.rank() == 2 ? x.dim(0) : 1,
                     length = x.rank() == 2 ? x.dim(1) : x.elements();
  std::vector<float> counts(static_cast<std::size_t>(rows * width));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t size = shortest; size <= longest; ++size) {
      // An element alone has no distance, so it is counted once.
      for (std::int64_t step = 1; step <= (size == 1 ? 1 : skips + 1); ++step) {
        for (std::int64_t at = 0; at + step * (size - 1) < length; ++at) {
          Integers gram;
          for (std::int64_t k = 0; k < size; ++k)
            gram.push_back(numbers[static_cast<std::size_t>(row * length + at + k * step)]);
          const auto found = grams.find(gram);
          if (found != grams.end()) ++counts[static_cast<std::size_t>(row * width + found->second)];
        }
      }
    }
  }
  const std::vector<double> weights = n.numbers("weights");
  const std::string mode = n.text("mode", "");
  n.require(weights.empty() || weights.size() == places.size(),
            "it has " + std::to_string(weights.size()) + " weights");
  std::vector<double> weight(static_cast<std::size_t>(width), 1.0);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weight[static_cast<std::size_t>(places[i])] = weights[i];
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (mode == "IDF") counts[i] = counts[i] > 0 ? 1.0F : 0.0F;
    if (mode != "TF") counts[i] *= static_cast<float>(weight[i % static_cast<std::size_t>(width)]);
  }
  n.set_known(0, Tensor::from(x.rank() == 2 ? Integers{rows, width} : Integers{width}, counts));
}

// --- Caches ------------------------------------------------------------------------------------

// Rows of a cache along an axis become those of the update, from an index on that each batch has.
void import_tensor_scatter(NodeContext& n) {
  const Value cache = n.value(0), update = n.value(1);
  const int axis = n.axis(n.integer("axis", -2), cache.rank());
  const bool circular = n.text("mode", "linear") == "circular";
  Value place = iota(n.program(), {.shape = cache.shape(), .axis = axis});
  if (n.has(2)) {
    Shape shape(static_cast<std::size_t>(cache.rank()), Dim(1));
    shape[0] = cache.dim(0);
    place = place - reshape(cast(n.value(2), {.dtype = i64}), {.shape = shape});
  }
  if (circular) place = floor_mod(place, dim_size(cache, {.axes = {axis}, .dtype = i64}));
  const Value size = dim_size(update, {.axes = {axis}, .dtype = i64});
  const Value inside = logical_and(place >= 0.0, less(place, size));
  n.set(0, where(inside, take_along_axis(update, maximum(place, 0.0), {.axis = axis}), cache));
}

constexpr Operator kSelectionOperators[] = {
    {"", "Compress", import_compress, {.widens = false}},
    {"", "NonMaxSuppression", import_non_max_suppression, {.widens = false}},
    {"", "NonZero", import_nonzero, {.widens = false}},
    {"", "TensorScatter", import_tensor_scatter, {.widens = false}},
    {"", "TfIdfVectorizer", import_tfidf, {.widens = false}},
    {"", "Unique", import_unique, {.widens = false}},
};

}  // namespace

Operators selection_operators() { return kSelectionOperators; }

}  // namespace trireme::onnx
