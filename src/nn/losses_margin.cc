// Margin losses between classes, of pairs and of triplets; and the focal loss of classes.

#include <string>

#include "nn/losses.h"
#include "trireme/functions.h"
#include "trireme/nn.h"

namespace trireme::nn {
namespace {

void require_pair(const char* what, const Value& a, const Value& b) {
  require_same(what, a, b);
  require_option(a.rank() >= 1, what, "vectors are along the last axis, but the value is a scalar",
                 a);
}

void require_similar(const char* what, const Value& a, const Value& similar) {
  const Shape expected(a.shape().begin(), a.shape().end() - 1);
  if (similar.shape() == expected && similar.dtype() == a.dtype()) return;
  fail_layer(what,
             "`similar` needs a number for each pair, " + std::string(name_of(a.dtype())) +
                 str(expected) + ", but is " + similar.str(),
             "cast or reshape it", a);
}

Value last_sum(const Value& x) { return sum(x, {.axes = {-1}}); }

Value distance(const Value& a, const Value& b, double epsilon) {
  const Value d = a - b + epsilon;
  return sqrt(last_sum(d * d));
}

// The formula of PyTorch, which is also defined for zeros.
Value cosine(const Value& a, const Value& b) {
  constexpr double kEpsilon = 1e-12;
  return last_sum(a * b) * rsqrt((last_sum(a * a) + kEpsilon) * (last_sum(b * b) + kEpsilon));
}

Value blend_by_similarity(const Value& similar, const Value& loss, const Value& loss_of_others) {
  return similar * loss + (1.0 - similar) * loss_of_others;
}

}  // namespace

Value multi_class_hinge(const Value& logits, const Value& label, MultiClassHingeOptions options,
                        SourceLocation where) {
  LocationScope at(logits, "multi_class_hinge", where);
  require_labels("multi_class_hinge", logits, label);
  const int rank = logits.rank();
  const Value is_label = label_mask(at, logits, checked_labels(label, logits.dim(-1)));
  const Value of_label = last_sum(trireme::where(is_label, logits, 0.0));
  const Value shortfall =
      maximum(logits - spread(of_label, logits, axes_but(rank - 1, rank)) + options.margin, 0.0);
  const Value terms = options.squared ? shortfall * shortfall : shortfall;
  return mean(trireme::where(logical_not(is_label), terms, 0.0), {.axes = {-1}});
}

// All pairs of classes: [..., i, j], where i has target 1 and j has target 0.
Value multi_label_margin(const Value& x, const Value& target, MultiLabelMarginOptions options,
                         SourceLocation where) {
  const LocationScope at(x, "multi_label_margin", where);
  require_pair("multi_label_margin", x, target);
  const int rank = x.rank();
  Shape pairs = x.shape();
  pairs.push_back(x.dim(-1));
  std::vector<std::int64_t> rows(static_cast<std::size_t>(rank)), columns(rows);
  for (int i = 0; i < rank; ++i) rows[static_cast<std::size_t>(i)] = i;
  columns = rows;
  columns.back() = rank;
  const auto of_rows = [&](const Value& v) { return broadcast(v, {.shape = pairs, .axes = rows}); };
  const auto of_columns = [&](const Value& v) {
    return broadcast(v, {.shape = pairs, .axes = columns});
  };
  const Value is_own = 0.0 < target;
  const Value counts = logical_and(of_rows(is_own), of_columns(logical_not(is_own)));
  const Value terms = maximum(of_columns(x) - of_rows(x) + options.margin, 0.0);
  return mean(sum(trireme::where(counts, terms, 0.0), {.axes = {rank}}), {.axes = {-1}});
}

Value multi_label_soft_margin(const Value& x, const Value& target,
                              const MultiLabelSoftMarginOptions& options, SourceLocation where) {
  const LocationScope at(x, "multi_label_soft_margin", where);
  require_pair("multi_label_soft_margin", x, target);
  const Value losses = binary_cross_entropy_with_logits(x, target, {}, where);
  const Value weights =
      class_weights("multi_label_soft_margin", "class_weights", x, options.class_weights, where);
  return mean(weights ? losses * weights : losses, {.axes = {-1}});
}

// Keeps 1 - p above 0, because a power of 0 has no gradient.
Value focal_cross_entropy(const Value& logits, const Value& label, FocalCrossEntropyOptions options,
                          SourceLocation where) {
  LocationScope at(logits, "focal_cross_entropy", where);
  require_labels("focal_cross_entropy", logits, label);
  require_option(options.gamma >= 0, "focal_cross_entropy", "gamma must not be negative", logits);
  const Value nll = cross_entropy(logits, label, {}, where);
  if (options.gamma == 0) return nll;
  constexpr double kTiny = 1e-30;
  return pow(maximum(-expm1(-nll), kTiny), options.gamma) * nll;
}

Value margin_ranking(const Value& a, const Value& b, const Value& order,
                     MarginRankingOptions options, SourceLocation where) {
  const LocationScope at(a, "margin_ranking", where);
  require_same("margin_ranking", a, b);
  require_same("margin_ranking", a, order);
  return maximum(options.margin - order * (a - b), 0.0);
}

Value triplet_margin(const Value& anchor, const Value& positive, const Value& negative,
                     const TripletMarginOptions& options, SourceLocation where) {
  const LocationScope at(anchor, "triplet_margin", where);
  require_pair("triplet_margin", anchor, positive);
  require_pair("triplet_margin", anchor, negative);
  const auto distance_of = [&](const Value& a, const Value& b) {
    return options.distance ? options.distance(a, b) : distance(a, b, options.epsilon);
  };
  const Value near = distance_of(anchor, positive);
  Value far = distance_of(anchor, negative);
  require_same("triplet_margin", near, far);
  if (options.swap) far = minimum(far, distance_of(positive, negative));
  return maximum(near - far + options.margin, 0.0);
}

Value cosine_embedding(const Value& a, const Value& b, const Value& similar,
                       CosineEmbeddingOptions options, SourceLocation where) {
  const LocationScope at(a, "cosine_embedding", where);
  require_pair("cosine_embedding", a, b);
  require_similar("cosine_embedding", a, similar);
  const Value c = cosine(a, b);
  return blend_by_similarity(similar, 1.0 - c, maximum(c - options.margin, 0.0));
}

Value contrastive(const Value& a, const Value& b, const Value& similar, ContrastiveOptions options,
                  SourceLocation where) {
  const LocationScope at(a, "contrastive", where);
  require_pair("contrastive", a, b);
  require_similar("contrastive", a, similar);
  constexpr double kTiny = 1e-30;  // for equal vectors: the root of 0 has no gradient
  const Value d = a - b;
  const Value square = last_sum(d * d);
  const Value shortfall = maximum(options.margin - sqrt(maximum(square, kTiny)), 0.0);
  return blend_by_similarity(similar, square, shortfall * shortfall) * 0.5;
}

}  // namespace trireme::nn
