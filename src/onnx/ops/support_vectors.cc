// Support vector machines: the domain ai.onnx.ml. Sums of many kernels cancel each other, so they
// are computed in f64.

#include "onnx/importer.h"
#include "onnx/ops/classic.h"
#include "onnx/ops/operators.h"
#include "trireme/control.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

using Numbers = std::vector<double>;

std::int64_t size_of_list(const Numbers& numbers) {
  return static_cast<std::int64_t>(numbers.size());
}

// The kernel of each row of x and each support vector: [rows, vectors].
Value kernel_values(NodeContext& n, const Value& x, const Value& vectors) {
  const std::string kind = n.text("kernel_type", "LINEAR");
  Numbers p = attribute_numbers(n, "kernel_params");
  p.resize(3, 0.0);
  const Value products = matmul(x, vectors, {.transpose_b = true});
  if (kind == "LINEAR") return products;
  if (kind == "POLY") return pow(products * p[0] + p[1], p[2]);
  if (kind == "SIGMOID") return tanh(products * p[0] + p[1]);
  n.require(kind == "RBF", "its kernel is \"" + kind + "\"");
  // The differences, because x.x - 2 x.v + v.v loses digits.
  const Value apart = unsqueeze(x, 1) - unsqueeze(vectors, 0);
  return exp(sum(apart * apart, {.axes = {2}}) * -p[0]);
}

void import_svm_regressor(NodeContext& n) {
  const Value x = cast(n.value(0), f64);
  const Numbers coefficients = attribute_numbers(n, "coefficients");
  const Numbers rho = attribute_numbers(n, "rho");
  const std::int64_t vectors = n.integer("n_supports", 0);
  const Numbers numbers = attribute_numbers(n, "support_vectors");
  n.require(rho.size() == 1, "it has not one rho");
  Value y;
  if (vectors > 0) {
    n.require(size_of_list(numbers) % vectors == 0 && size_of_list(coefficients) == vectors,
              "its support vectors and coefficients do not match");
    const Value v = table(n, x.dtype(), {vectors, size_of_list(numbers) / vectors}, numbers);
    y = matmul(kernel_values(n, x, v), table(n, x.dtype(), {vectors, 1}, coefficients)) + rho[0];
  } else {
    y = linear_scores(n, "rho");
  }
  if (n.integer("one_class", 0) == 1) y = where(y > 0.0, 1.0, cast(-1.0 + y * 0.0, y.dtype()));
  n.set(0, cast(post_transform(n, y, n.text("post_transform", "NONE")), f32));
}

// --- Classes -----------------------------------------------------------------------------------

// One machine for each pair of classes, in the order (0, 1), (0, 2) ..., (1, 2) ...
struct Pairs {
  std::vector<std::pair<std::int64_t, std::int64_t>> classes;

  explicit Pairs(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t j = i + 1; j < count; ++j) classes.emplace_back(i, j);
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(classes.size()); }
};

// The scores of the pairs, [rows, pairs]: above 0 for the first class. The vectors follow each
// other by class; row k of the coefficients belongs to the k-th other class.
Value pair_scores(NodeContext& n, const Pairs& pairs, const Numbers& per_class) {
  const Value x = cast(n.value(0), f64);
  const Numbers numbers = attribute_numbers(n, "support_vectors");
  const Numbers coefficients = attribute_numbers(n, "coefficients");
  const Numbers rho = attribute_numbers(n, "rho");
  Numbers begins = {0};
  for (const double size : per_class) {
    n.require(size >= 0 && size <= 1e9, "a class has an impossible number of vectors");
    begins.push_back(begins.back() + size);
  }
  const auto count = static_cast<std::int64_t>(begins.back());
  const std::int64_t classes = size_of_list(per_class);
  n.require(count > 0 && size_of_list(numbers) % count == 0 &&
                size_of_list(coefficients) == count * (classes - 1) &&
                size_of_list(rho) == pairs.size(),
            "its support vectors, coefficients and rho do not match");
  Numbers weights(static_cast<std::size_t>(count * pairs.size()), 0.0);
  for (std::int64_t pair = 0; pair < pairs.size(); ++pair) {
    const auto [i, j] = pairs.classes[static_cast<std::size_t>(pair)];
    const auto add = [&](std::int64_t of, std::int64_t row) {
      const auto begin = static_cast<std::int64_t>(begins[static_cast<std::size_t>(of)]);
      const auto end = static_cast<std::int64_t>(begins[static_cast<std::size_t>(of) + 1]);
      for (std::int64_t v = begin; v < end; ++v) {
        weights[static_cast<std::size_t>(v * pairs.size() + pair)] =
            coefficients[static_cast<std::size_t>(row * count + v)];
      }
    };
    add(i, j - 1);
    add(j, i);
  }
  const Value v = table(n, x.dtype(), {count, size_of_list(numbers) / count}, numbers);
  return matmul(kernel_values(n, x, v), table(n, x.dtype(), {count, pairs.size()}, weights)) +
         table(n, x.dtype(), {pairs.size()}, rho);
}

// The number of pairs that a class wins, [rows, classes].
Value votes_of(NodeContext& n, const Value& scores, const Pairs& pairs, std::int64_t classes) {
  Numbers first(static_cast<std::size_t>(pairs.size() * classes), 0.0), second = first;
  for (std::int64_t pair = 0; pair < pairs.size(); ++pair) {
    const auto [i, j] = pairs.classes[static_cast<std::size_t>(pair)];
    first[static_cast<std::size_t>(pair * classes + i)] = 1;
    second[static_cast<std::size_t>(pair * classes + j)] = 1;
  }
  const Value wins = cast(scores > 0.0, scores.dtype());
  return matmul(wins, table(n, scores.dtype(), {pairs.size(), classes}, first)) +
         matmul(1.0 - wins, table(n, scores.dtype(), {pairs.size(), classes}, second));
}

// Element (i, j) is the probability of class i against j, [rows, classes, classes]: Platt 1999.
Value pair_probabilities(NodeContext& n, const Value& scores, const Pairs& pairs,
                         std::int64_t classes) {
  const Numbers a = attribute_numbers(n, "prob_a"), b = attribute_numbers(n, "prob_b");
  n.require(size_of_list(a) == pairs.size() && size_of_list(b) == pairs.size(),
            "it has not a prob_a and a prob_b for each pair");
  const DType dtype = scores.dtype();
  const Value raw =
      sigmoid(-(scores * table(n, dtype, {pairs.size()}, a) + table(n, dtype, {pairs.size()}, b)));
  const Value p = minimum(maximum(raw, 1e-7), 1 - 1e-7);
  const Value with_complements = concat({p, 1.0 - p, p * 0.0}, {.axis = 1});
  Numbers places(static_cast<std::size_t>(classes * classes),
                 static_cast<double>(2 * pairs.size()));
  for (std::int64_t pair = 0; pair < pairs.size(); ++pair) {
    const auto [i, j] = pairs.classes[static_cast<std::size_t>(pair)];
    places[static_cast<std::size_t>(i * classes + j)] = static_cast<double>(pair);
    places[static_cast<std::size_t>(j * classes + i)] = static_cast<double>(pairs.size() + pair);
  }
  const Value all =
      gather(with_complements, table(n, i64, {classes * classes}, places), {.axis = 1});
  return reshape(all, {.shape = {scores.dim(0), Dim(classes), Dim(classes)}});
}

Value column_of(const Value& x, std::int64_t i) {
  return slice(x, {.starts = {0, i}, .limits = {-1, i + 1}});
}

// The probabilities p of the classes that minimize p^T Q p: Wu, Lin and Weng 2004, "Probability
// estimates for multi-class classification by pairwise coupling", algorithm 2, with the limits of
// libsvm: a row ends when its error is below 0.005 / classes, or after 100 steps.
Value coupled(NodeContext& n, const Value& r, std::int64_t classes) {
  const Value others = transpose(r, {.permutation = {0, 2, 1}});  // r_ji at (i, j)
  const Value diagonal = sum(others * others, {.axes = {2}});     // [rows, classes]
  Numbers identity(static_cast<std::size_t>(classes * classes), 0.0);
  for (std::int64_t i = 0; i < classes; ++i)
    identity[static_cast<std::size_t>(i * (classes + 1))] = 1;
  const Value q =
      unsqueeze(diagonal, 2) * table(n, r.dtype(), {classes, classes}, identity) - others * r;
  const double limit = 0.005 / static_cast<double>(classes);
  const auto step = [&](const Values& carried, const Values&) {
    Value p = carried[0];
    Value qp = squeeze(matmul(q, unsqueeze(p, 2)), {2});
    Value pqp = sum(p * qp, {.axes = {1}, .keep = true});
    const Value is_done = reduce_max(abs(qp - pqp), {.axes = {1}, .keep = true}) < limit;
    for (std::int64_t t = 0; t < classes; ++t) {
      const Value d = column_of(diagonal, t), qpt = column_of(qp, t);
      const Value more = (pqp - qpt) / d;
      const Value scale = 1.0 + more;
      Numbers unit(static_cast<std::size_t>(classes), 0.0);
      unit[static_cast<std::size_t>(t)] = 1;
      const Value row = squeeze(slice(q, {.starts = {0, t, 0}, .limits = {-1, t + 1, -1}}), {1});
      pqp = (pqp + more * (more * d + 2.0 * qpt)) / scale / scale;
      p = (p + more * table(n, r.dtype(), {classes}, unit)) / scale;
      qp = (qp + more * row) / scale;
    }
    return ScanStep{{where(is_done, carried[0], p)}};
  };
  const Value start = diagonal * 0.0 + 1.0 / static_cast<double>(classes);
  return scan({start}, {}, step, {.length = Dim(100)}).carried[0];
}

void import_svm_classifier(NodeContext& n) {
  const auto classes = static_cast<std::int64_t>(count_labels(n));
  const Numbers per_class = attribute_numbers(n, "vectors_per_class");
  n.require(classes > 1 && size_of_list(per_class) == classes,
            "it has not support vectors for each of at least two classes");
  n.require(classes <= 1000, "it has more than 1000 classes");
  const Pairs pairs(classes);
  const Value scores = pair_scores(n, pairs, per_class);
  const std::string transform = n.text("post_transform", "NONE");
  const Value votes = votes_of(n, scores, pairs, classes);
  if (n.attribute("prob_a") != nullptr) {
    const Value p = coupled(n, pair_probabilities(n, scores, pairs, classes), classes);
    return set_classes(n, argmax(votes, {.axes = {1}}), cast(post_transform(n, p, transform), f32));
  }
  // As ONNX Runtime has it: the score of the first class is negative where that class wins.
  const Value both = classes == 2 ? concat({-scores, scores}, {.axis = 1}) : scores;
  set_classes(n, argmax(votes, {.axes = {1}}), cast(post_transform(n, both, transform), f32));
}

constexpr Operator kSupportVectorOperators[] = {
    {kClassic, "SVMClassifier", import_svm_classifier},
    {kClassic, "SVMRegressor", import_svm_regressor},
};

}  // namespace

Operators support_vector_operators() { return kSupportVectorOperators; }

}  // namespace trireme::onnx
