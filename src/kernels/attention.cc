// attention: query, key, value, [others,] y, log_sums.
// attention_gradient: query, key, value, log_sums, gradient, shift, [others,] dquery, dkey, dvalue.
// others: nothing; or booleans [batch, keys], which keys are used; or the splits of the queries and
// those of the keys. Attributes: scale; causal.
// Dense tensors are [batch, steps, heads, width], rows of sequences [rows, heads, width]; log_sums
// and shift have no width. Heads of queries are a multiple of those of keys, which are shared by
// neighbors.
//
// The scores of a block of queries and a block of keys are computed, used and dropped: Milakov and
// Gimelshein 2018, "Online normalizer calculation for softmax"; Dao 2023, "FlashAttention-2",
// algorithms 1 and 2.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention_rows.h"
#include "kernels/call.h"
#include "kernels/families.h"
#include "kernels/product.h"
#include "kernels/segments.h"

namespace trireme::kernels {

namespace {

// Scores of a block fit half of a level 2 cache.
constexpr std::int64_t kQueries = 128, kKeys = 256;

struct Problem {
  std::int64_t sequences = 0, queries = 0, keys = 0;  // queries and keys of all sequences
  std::int64_t heads = 0, key_heads = 0, width = 0, value_width = 0;
  bool ragged = false, masked = false, causal = false;
  double scale = 1;

  std::int64_t heads_per_key() const { return heads / key_heads; }
};

// Queries and keys of one sequence.
struct Sequence {
  std::int64_t first_query, queries, first_key, keys;
};

// The pointers of one run.
template <class T>
struct Tensors {
  const T *query, *key, *value;
  const bool* used = nullptr;
  const std::int64_t *query_splits = nullptr, *key_splits = nullptr;
};

// A block of queries of one head, and a block of keys.
struct Block {
  std::int64_t head, query, queries, key, keys;
};

template <class T>
class Attention : public KernelInstance {
 public:
  explicit Attention(const Problem& problem)
      : p_(problem), rows_(attention_rows<T>()), scale_(static_cast<T>(problem.scale)) {
    prepare_products();
  }

 protected:
  // `others` is where the optional tensors stand.
  Tensors<T> read(const char* kernel, void* const* tensors, std::size_t others) {
    Tensors<T> t{static_cast<const T*>(tensors[0]), static_cast<const T*>(tensors[1]),
                 static_cast<const T*>(tensors[2])};
    if (p_.masked) t.used = static_cast<const bool*>(tensors[others]);
    if (p_.ragged) {
      t.query_splits = static_cast<const std::int64_t*>(tensors[others]);
      t.key_splits = static_cast<const std::int64_t*>(tensors[others + 1]);
      check_splits(kernel, t.query_splits, p_.sequences, p_.queries);
      check_splits(kernel, t.key_splits, p_.sequences, p_.keys);
    }
    return t;
  }

  Sequence sequence(const Tensors<T>& t, std::int64_t i) const {
    if (!p_.ragged) {
      const std::int64_t queries = p_.queries / p_.sequences, keys = p_.keys / p_.sequences;
      return {i * queries, queries, i * keys, keys};
    }
    return {t.query_splits[i], t.query_splits[i + 1] - t.query_splits[i], t.key_splits[i],
            t.key_splits[i + 1] - t.key_splits[i]};
  }

  // The number of keys, from the first of the sequence, that its query `query` may attend to.
  std::int64_t visible(const Sequence& s, std::int64_t query) const {
    return p_.causal ? std::min(s.keys, query + 1) : s.keys;
  }

  // Numbers of row `row` and a head of tensors with these heads and widths.
  static std::int64_t place(std::int64_t row, std::int64_t heads, std::int64_t head,
                            std::int64_t width) {
    return (row * heads + head) * width;
  }
  std::int64_t query_place(const Sequence& s, const Block& b, std::int64_t width) const {
    return place(s.first_query + b.query, p_.heads, b.head, width);
  }
  std::int64_t key_place(const Sequence& s, const Block& b, std::int64_t width) const {
    return place(s.first_key + b.key, p_.key_heads, b.head / p_.heads_per_key(), width);
  }

  // scores [queries, keys] = query key^T
  void multiply_scores(const Tensors<T>& t, const Sequence& s, const Block& b, T* scores) const {
    const Product product{.transpose_b = true,
                          .m = b.queries,
                          .n = b.keys,
                          .k = p_.width,
                          .a_stride = p_.heads * p_.width,
                          .b_stride = p_.key_heads * p_.width,
                          .c_stride = kKeys};
    multiply(product, t.query + query_place(s, b, p_.width), t.key + key_place(s, b, p_.width),
             scores);
  }

  // Sets the scores of keys that query `query` may not attend to, to -infinity.
  void mask(const Tensors<T>& t, const Sequence& s, const Block& b, std::int64_t query,
            T* scores) const {
    constexpr T kNever = -std::numeric_limits<T>::infinity();
    const std::int64_t count = std::clamp<std::int64_t>(visible(s, query) - b.key, 0, b.keys);
    std::fill(scores + count, scores + b.keys, kNever);
    if (t.used == nullptr) return;
    const bool* used = t.used + s.first_key + b.key;
    for (std::int64_t j = 0; j < count; ++j) {
      if (!used[j]) scores[j] = kNever;
    }
  }

  // What to subtract from scores. If all are -infinity, so that a difference is NaN, 0.
  static T finite(T largest) {
    return largest == -std::numeric_limits<T>::infinity() ? T{0} : largest;
  }

  Problem p_;
  const AttentionRows<T>& rows_;
  T scale_;
};

template <class T>
class AttentionForward : public Attention<T> {
 public:
  explicit AttentionForward(const Problem& problem) : Attention<T>(problem) {}

  std::size_t workspace_bytes(int threads) const override {
    return static_cast<std::size_t>(threads) * kQueries * kKeys * sizeof(T);
  }

  void run(void* const* tensors, void* workspace, device::Device& device) override {
    const std::size_t others = this->p_.ragged ? 2 : this->p_.masked ? 1 : 0;
    const Tensors<T> t = this->read("attention", tensors, 3);
    y_ = static_cast<T*>(tensors[3 + others]);
    log_sums_ = static_cast<T*>(tensors[4 + others]);
    list_tiles(t);
    const auto count = static_cast<std::int64_t>(tiles_.size());
    device.run(count, 1, count > 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      T* scores = static_cast<T*>(workspace) + thread * kQueries * kKeys;
      // The last tiles of causal attention have most keys: they come first.
      for (std::int64_t i = begin; i < end; ++i) {
        const Tile& tile = tiles_[static_cast<std::size_t>(count - 1 - i)];
        run_tile(t, this->sequence(t, tile.sequence), tile, scores);
      }
    });
  }

 private:
  struct Tile {
    std::int64_t sequence, head, query, queries;
  };
  // Of the queries of a block: the largest score, without the scale, and the sum of the
  // exponentials so far.
  struct State {
    std::array<T, kQueries> largest;
    std::array<double, kQueries> sum;
  };

  void list_tiles(const Tensors<T>& t) {
    tiles_.clear();
    for (std::int64_t i = 0; i < this->p_.sequences; ++i) {
      const Sequence s = this->sequence(t, i);
      for (std::int64_t query = 0; query < s.queries; query += kQueries) {
        for (std::int64_t head = 0; head < this->p_.heads; ++head) {
          tiles_.push_back({i, head, query, std::min(kQueries, s.queries - query)});
        }
      }
    }
  }

  void run_tile(const Tensors<T>& t, const Sequence& s, const Tile& tile, T* scores) const {
    const std::int64_t stride = this->p_.heads * this->p_.value_width;
    State state;
    state.largest.fill(-std::numeric_limits<T>::infinity());
    state.sum.fill(0);
    Block b{tile.head, tile.query, tile.queries, 0, 0};
    T* y = y_ + this->query_place(s, b, this->p_.value_width);
    for (std::int64_t i = 0; i < b.queries; ++i) {
      std::fill_n(y + i * stride, this->p_.value_width, T{0});
    }
    const std::int64_t keys = this->visible(s, tile.query + tile.queries - 1);
    for (b.key = 0; b.key < keys; b.key += kKeys) {
      b.keys = std::min(kKeys, keys - b.key);
      this->multiply_scores(t, s, b, scores);
      for (std::int64_t i = 0; i < b.queries; ++i) {
        this->mask(t, s, b, tile.query + i, scores + i * kKeys);
        add_row(state, static_cast<std::size_t>(i), b.keys, scores + i * kKeys, y + i * stride);
      }
      const Product product{.m = b.queries,
                            .n = this->p_.value_width,
                            .k = b.keys,
                            .a_stride = kKeys,
                            .b_stride = this->p_.key_heads * this->p_.value_width,
                            .c_stride = stride,
                            .accumulate = true};
      multiply(product, scores, t.value + this->key_place(s, b, this->p_.value_width), y);
    }
    finish(state, b.queries, y, log_sums_ + this->query_place(s, b, 1));
  }

  // Replaces the scores of a query by weights, relative to the largest score so far.
  void add_row(State& state, std::size_t i, std::int64_t keys, T* scores, T* y) const {
    T& largest = state.largest[i];
    const T before = largest;
    largest = std::max(largest, this->rows_.max(scores, keys));
    const double sum = this->rows_.exp(scores, keys, this->scale_, this->finite(largest));
    if (before != largest && state.sum[i] != 0) {
      const double factor =
          std::exp((static_cast<double>(before) - static_cast<double>(largest)) * this->p_.scale);
      state.sum[i] *= factor;
      this->rows_.scale(y, this->p_.value_width, static_cast<T>(factor));
    }
    state.sum[i] += sum;
  }

  void finish(const State& state, std::int64_t queries, T* y, T* log_sums) const {
    for (std::int64_t i = 0; i < queries; ++i) {
      const double sum = state.sum[static_cast<std::size_t>(i)];
      if (sum != 0) {
        this->rows_.scale(y + i * this->p_.heads * this->p_.value_width, this->p_.value_width,
                          static_cast<T>(1 / sum));
      }
      log_sums[i * this->p_.heads] = static_cast<T>(
          static_cast<double>(state.largest[static_cast<std::size_t>(i)]) * this->p_.scale +
          std::log(sum));
    }
  }

  T *y_ = nullptr, *log_sums_ = nullptr;
  std::vector<Tile> tiles_;
};

// Each unit has a part of the queries of one sequence, and the heads that share one head of keys.
// The first part of a sequence adds to the gradients of keys and values, the others to copies,
// which are added in order. Parts depend on sizes only.
template <class T>
class AttentionGradient : public Attention<T> {
 public:
  explicit AttentionGradient(const Problem& problem) : Attention<T>(problem) {
    constexpr std::int64_t kUnits = 8, kMinQueries = 4 * kQueries;
    const std::int64_t units = std::max<std::int64_t>(problem.sequences * problem.key_heads, 1);
    const std::int64_t wanted = (kUnits + units - 1) / units;
    parts_ = std::clamp<std::int64_t>(problem.queries / kMinQueries, 1, wanted);
    key_size_ = problem.keys * problem.key_heads * problem.width;
    value_size_ = problem.keys * problem.key_heads * problem.value_width;
  }

  std::size_t workspace_bytes(int threads) const override {
    const std::int64_t copies = (parts_ - 1) * (key_size_ + value_size_);
    return static_cast<std::size_t>(copies + threads * 2 * kQueries * kKeys) * sizeof(T);
  }

  void run(void* const* tensors, void* workspace, device::Device& device) override {
    const std::size_t others = this->p_.ragged ? 2 : this->p_.masked ? 1 : 0;
    const Tensors<T> t = this->read("attention_gradient", tensors, 6);
    log_sums_ = static_cast<const T*>(tensors[3]);
    gradient_ = static_cast<const T*>(tensors[4]);
    shift_ = static_cast<const T*>(tensors[5]);
    dquery_ = static_cast<T*>(tensors[6 + others]);
    T* dkey = static_cast<T*>(tensors[7 + others]);
    T* dvalue = static_cast<T*>(tensors[8 + others]);
    T* scratch = static_cast<T*>(workspace);
    T* copies = scratch + device.threads() * 2 * kQueries * kKeys;
    std::fill_n(dquery_, this->p_.queries * this->p_.heads * this->p_.width, T{0});
    const auto dkeys = [&](std::int64_t part) {
      return part == 0 ? dkey : copies + (part - 1) * (key_size_ + value_size_);
    };
    const auto dvalues = [&](std::int64_t part) {
      return part == 0 ? dvalue : dkeys(part) + key_size_;
    };
    for (std::int64_t part = 0; part < parts_; ++part) {
      std::fill_n(dkeys(part), key_size_, T{0});
      std::fill_n(dvalues(part), value_size_, T{0});
    }
    const std::int64_t units = this->p_.sequences * this->p_.key_heads * parts_;
    device.run(units, 1, units > 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t part = parts_ - 1 - i % parts_, rest = i / parts_;
        const Sequence s = this->sequence(t, rest / this->p_.key_heads);
        const Unit unit{rest % this->p_.key_heads, s.queries * part / parts_,
                        s.queries * (part + 1) / parts_, dkeys(part), dvalues(part)};
        run_unit(t, s, unit, scratch + thread * 2 * kQueries * kKeys);
      }
    });
    add_parts(dkey, dvalue, copies, device);
  }

 private:
  struct Unit {
    std::int64_t key_head, first_query, end_query;
    T *dkey, *dvalue;
  };

  void run_unit(const Tensors<T>& t, const Sequence& s, const Unit& unit, T* scratch) const {
    const std::int64_t per_key = this->p_.heads_per_key();
    for (std::int64_t key = 0; key < s.keys; key += kKeys) {
      for (std::int64_t query = unit.first_query; query < unit.end_query; query += kQueries) {
        const std::int64_t queries = std::min(kQueries, unit.end_query - query);
        const std::int64_t visible = this->visible(s, query + queries - 1);
        if (key >= visible) continue;
        Block b{0, query, queries, key, std::min(kKeys, visible - key)};
        for (std::int64_t i = 0; i < per_key; ++i) {
          b.head = unit.key_head * per_key + i;
          run_block(t, s, b, unit, scratch);
        }
      }
    }
  }

  // Adds what one block of scores gives to the gradients of its queries, keys and values.
  void run_block(const Tensors<T>& t, const Sequence& s, const Block& b, const Unit& unit,
                 T* scratch) const {
    const Problem& p = this->p_;
    const std::int64_t of_query = p.heads * p.width, of_key = p.key_heads * p.width;
    const std::int64_t of_y = p.heads * p.value_width, of_value = p.key_heads * p.value_width;
    T *weights = scratch, *dscores = scratch + kQueries * kKeys;
    const T* gradient = gradient_ + this->query_place(s, b, p.value_width);
    const std::int64_t row = this->query_place(s, b, 1);
    this->multiply_scores(t, s, b, weights);
    for (std::int64_t i = 0; i < b.queries; ++i) {
      T* scores = weights + i * kKeys;
      this->rows_.scale(scores, b.keys, this->scale_);
      this->mask(t, s, b, b.query + i, scores);
      this->rows_.exp(scores, b.keys, 1, this->finite(log_sums_[row + i * p.heads]));
    }
    multiply({.transpose_a = true,
              .m = b.keys,
              .n = p.value_width,
              .k = b.queries,
              .a_stride = kKeys,
              .b_stride = of_y,
              .c_stride = of_value,
              .accumulate = true},
             weights, gradient, unit.dvalue + this->key_place(s, b, p.value_width));
    multiply({.transpose_b = true,
              .m = b.queries,
              .n = b.keys,
              .k = p.value_width,
              .a_stride = of_y,
              .b_stride = of_value,
              .c_stride = kKeys},
             gradient, t.value + this->key_place(s, b, p.value_width), dscores);
    for (std::int64_t i = 0; i < b.queries; ++i) {
      this->rows_.gradient(dscores + i * kKeys, weights + i * kKeys, b.keys,
                           shift_[row + i * p.heads], this->scale_);
    }
    multiply({.transpose_a = true,
              .m = b.keys,
              .n = p.width,
              .k = b.queries,
              .a_stride = kKeys,
              .b_stride = of_query,
              .c_stride = of_key,
              .accumulate = true},
             dscores, t.query + this->query_place(s, b, p.width),
             unit.dkey + this->key_place(s, b, p.width));
    multiply({.m = b.queries,
              .n = p.width,
              .k = b.keys,
              .a_stride = kKeys,
              .b_stride = of_key,
              .c_stride = of_query,
              .accumulate = true},
             dscores, t.key + this->key_place(s, b, p.width),
             dquery_ + this->query_place(s, b, p.width));
  }

  void add_parts(T* dkey, T* dvalue, const T* copies, device::Device& device) const {
    constexpr std::int64_t kGrain = 16384;
    const auto add = [&](T* to, const T* from, std::int64_t size) {
      device.run(size, kGrain, parts_ > 1 && size > kGrain,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t part = 1; part < parts_; ++part) {
                     const T* copy = from + (part - 1) * (key_size_ + value_size_);
                     for (std::int64_t i = begin; i < end; ++i) to[i] += copy[i];
                   }
                 });
    };
    add(dkey, copies, key_size_);
    add(dvalue, copies + key_size_, value_size_);
  }

  std::int64_t parts_ = 1, key_size_ = 0, value_size_ = 0;
  const T *log_sums_ = nullptr, *gradient_ = nullptr, *shift_ = nullptr;
  T* dquery_ = nullptr;
};

// `inputs` come before the optional tensors, `results` after them.
Problem read(const char* kernel, const Call& call, std::size_t inputs, std::size_t results) {
  const std::size_t count = call.tensors.size();
  if (count < inputs + results || count > inputs + results + 2) {
    fail_call(kernel, call, "the number of tensors does not fit");
  }
  const std::size_t others = count - inputs - results;
  const Sizes& query = call.tensors[0].shape;
  const Sizes& key = call.tensors[1].shape;
  const Sizes& value = call.tensors[2].shape;
  Problem p;
  p.ragged = others == 2;
  p.masked = others == 1;
  p.causal = flag(call, "causal");
  p.scale = number(call, "scale", 1);
  const std::size_t rank = p.ragged ? 3 : 4;
  if (query.size() != rank || key.size() != rank || value.size() != rank) {
    fail_call(kernel, call, "the ranks do not fit");
  }
  p.sequences = p.ragged ? call.tensors[inputs].shape.at(0) - 1 : query[0];
  p.queries = elements(Sizes(query.begin(), query.end() - 2));
  p.keys = elements(Sizes(key.begin(), key.end() - 2));
  p.heads = query[rank - 2];
  p.key_heads = key[rank - 2];
  p.width = query[rank - 1];
  p.value_width = value[rank - 1];
  const bool fits = p.key_heads > 0 && p.heads % p.key_heads == 0 && p.width > 0 &&
                    key[rank - 1] == p.width && value[rank - 2] == p.key_heads &&
                    Sizes(key.begin(), key.end() - 2) == Sizes(value.begin(), value.end() - 2) &&
                    p.sequences >= 0 && (p.ragged || key[0] == query[0]);
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  if (!fits || p.heads * p.width > kMax || p.heads * p.value_width > kMax) {
    fail_call(kernel, call, "the shapes do not fit");
  }
  return p;
}

template <template <class> class Kernel>
std::unique_ptr<KernelInstance> prepare(const char* kernel, const Call& call, std::size_t inputs,
                                        std::size_t results) {
  const Problem p = read(kernel, call, inputs, results);
  switch (call.tensors[0].dtype) {
    case DType::f32: return std::make_unique<Kernel<float>>(p);
    case DType::f64: return std::make_unique<Kernel<double>>(p);
    default: fail_call(kernel, call, "only f32 and f64 are computed");
  }
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_attention(const Call& call) {
  return prepare<AttentionForward>("attention", call, 3, 2);
}

std::unique_ptr<KernelInstance> prepare_attention_gradient(const Call& call) {
  return prepare<AttentionGradient>("attention_gradient", call, 6, 3);
}

}  // namespace trireme::kernels
