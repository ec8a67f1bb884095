// Losses that use the label and a few sampled classes instead of all classes.

#include <cmath>
#include <string>

#include "nn/losses.h"
#include "nn/sampling.h"
#include "trireme/functions.h"
#include "trireme/nn.h"

namespace trireme::nn {
namespace {

struct Table {
  Value weight, bias;  // [classes, width], [classes] or empty
  std::int64_t classes = 0;
};

Table checked_table(Layer& layer, const Value& hidden, const Value& label, const Value& weight,
                    const Value& bias) {
  const std::int64_t classes =
      require_table(layer, hidden, label, weight, bias, {"classes", "classes"});
  layer.require(classes >= 2, "there must be at least two classes");
  return {weight, bias, classes};
}

Value candidates(Layer& layer, const SampledOptions& options, std::int64_t classes) {
  const Value& given = options.candidates;
  if (!given) {
    layer.require(options.samples >= 1, "samples must be at least 1");
    return draw_classes(layer, options.sampler, options.samples, classes);
  }
  layer.require(given.dtype() == DType::i64 && given.rank() == 1 && given.dim(0).is_constant() &&
                    given.dim(0).constant() >= 1,
                "candidates must be i64[n], but are " + given.str());
  return given;
}

// Logits minus the logarithm of the expected count of a class among the sampled ones.
struct Corrected {
  Value of_label;  // [batch]
  Value of_drawn;  // [batch, samples]
  Value hits;      // boolean [batch, samples]: drawn classes that are the label
};

// Uses one gather of all rows, so that the table has one gradient.
Corrected corrected_logits(const Value& hidden, const Value& label, const Table& table,
                           const Value& drawn, Sampler sampler) {
  const std::int64_t samples = drawn.dim(0).constant();
  const Value ids = concat({drawn, checked_labels(label, table.classes)}, {.axis = 0});
  const Value rows = gather(table.weight, ids);
  const Value expected =
      log_probability(ids, sampler, table.classes) + std::log(static_cast<double>(samples));
  Value shift = -cast(expected, {.dtype = hidden.dtype()});
  if (table.bias) shift = shift + gather(table.bias, ids);
  const Value own = slice(rows, {.starts = {samples, 0}, .limits = {-1, -1}});
  const Value others = slice(rows, {.starts = {0, 0}, .limits = {samples, -1}});
  const Value own_shift = slice(shift, {.starts = {samples}, .limits = {-1}});
  const Value other_shift = slice(shift, {.starts = {0}, .limits = {samples}});
  return {sum(hidden * own, {.axes = {1}}) + own_shift,
          matmul(hidden, others, {.transpose_b = true}) + other_shift,
          equal(unsqueeze(label, 1), unsqueeze(drawn, 0))};
}

Value exact_cross_entropy(const Value& hidden, const Value& label, const Table& table,
                          const SourceLocation& where) {
  Value logits = matmul(hidden, table.weight, {.transpose_b = true});
  if (table.bias) logits = logits + table.bias;
  return cross_entropy(logits, label, {}, where);
}

// log(exp(x[label]) + sum of exp(x[drawn])) - x[label]. The maximum cancels, so it needs no
// gradient.
Value cross_entropy_among(const Corrected& x) {
  constexpr double kMaskedLogit = -1e30;
  const Value drawn = trireme::where(logical_not(x.hits), x.of_drawn, kMaskedLogit);
  const Value top = stop_gradient(maximum(x.of_label, reduce_max(drawn, {.axes = {1}})));
  const Value total = exp(x.of_label - top) + sum(exp(drawn - unsqueeze(top, 1)), {.axes = {1}});
  return log(total) + (top - x.of_label);
}

}  // namespace

Value draw_classes(Layer& layer, Sampler sampler, std::int64_t samples, std::int64_t classes) {
  const Value u = layer.make("random_uniform", {{"dtype", DType::f64},
                                                {"high", 1.0},
                                                {"low", 0.0},
                                                {"shape", Shape{samples}},
                                                {"stream", stream_of(layer)}});
  const auto n = static_cast<double>(classes);
  const Value position = sampler == Sampler::uniform
                             ? u * n
                             : exp(u * std::log(n + 1)) - 1.0;  // cast() below rounds down
  return cast(clamp(position, 0, n - 1), {.dtype = DType::i64});
}

Value log_probability(const Value& ids, Sampler sampler, std::int64_t classes) {
  const Value k = cast(ids, {.dtype = DType::f64});
  const auto n = static_cast<double>(classes);
  if (sampler == Sampler::uniform) return k * 0.0 - std::log(n);
  return log(log1p(1.0 / (k + 1.0)) / std::log(n + 1));
}

Value sampled_softmax(const Value& hidden, const Value& label, const Value& weight,
                      const Value& bias, SampledOptions options, SourceLocation where) {
  Layer layer(hidden, "sampled_softmax", "", where);
  const Table table = checked_table(layer, hidden, label, weight, bias);
  const Value drawn = candidates(layer, options, table.classes);
  const Corrected x = corrected_logits(hidden, label, table, drawn, options.sampler);
  return when_training(cross_entropy_among(x), exact_cross_entropy(hidden, label, table, where));
}

Value nce(const Value& hidden, const Value& label, const Value& weight, const Value& bias,
          SampledOptions options, SourceLocation where) {
  Layer layer(hidden, "nce", "", where);
  const Table table = checked_table(layer, hidden, label, weight, bias);
  const Value drawn = candidates(layer, options, table.classes);
  const Corrected x = corrected_logits(hidden, label, table, drawn, options.sampler);
  const Value loss = softplus(-x.of_label, where) + sum(softplus(x.of_drawn, where), {.axes = {1}});
  return when_training(loss, exact_cross_entropy(hidden, label, table, where));
}

}  // namespace trireme::nn
