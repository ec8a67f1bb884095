// Jobs that give each row of sequences a label: [train] loss = "crf", and metrics of chunks.

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "data/text/tagged_data.h"
#include "nn/layer.h"
#include "session/job/field_reader.h"
#include "session/job/model.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/sequence.h"
#include "trireme/structured.h"

namespace trireme::job {
namespace {

constexpr float kForbidden = -1e4f;

bool goes_on(const std::string& label) { return label.starts_with("I-"); }

// Returns whether `after` may follow `before`: an I- label continues its own role.
bool may_follow(const std::string& before, const std::string& after) {
  if (!goes_on(after)) return true;
  return (goes_on(before) || before.starts_with("B-")) && before.substr(1) == after.substr(1);
}

Tensor forbidden_pairs(const std::vector<std::string>& names) {
  const auto count = static_cast<std::int64_t>(names.size());
  Tensor pairs(f32, {count, count});
  float* at = pairs.data<float>();
  for (const std::string& before : names) {
    for (const std::string& after : names) *at++ = may_follow(before, after) ? 0 : kForbidden;
  }
  return pairs;
}

// What is predicted of each row.
Value predicted(const Network& network) {
  if (network.task == Task::labels) return network.output;
  return argmax(network.logits, {.axes = {-1}});
}

}  // namespace

RandomField random_field(const Node& loss, Value scores, Value target,
                         const std::vector<std::string>& names) {
  const Choice choice = read_choice(loss, "a loss");
  Table table(*choice.options);
  nn::CrfLossOptions options;
  FieldReader reader(table);
  fields(reader, options);
  table.done();
  RandomField field;
  nn::CrfScores pairs = nn::crf_scores(scores);
  const std::int64_t count = scores.dim(-1).constant();
  const bool chunks = std::any_of(names.begin(), names.end(), goes_on);
  if (options.constrained && chunks && count == static_cast<std::int64_t>(names.size())) {
    nn::Layer layer(scores, "constraint", "", SourceLocation::current());
    const Value forbidden =
        layer.parameter("forbidden", scores.dtype(), {count, count}, nn::zeros(), false);
    pairs.transition = pairs.transition + forbidden;
    field.constants.emplace(forbidden.name().substr(1), forbidden_pairs(names));
  }
  const Value label = trireme::where(target < static_cast<double>(count), target, 0.0);
  field.loss = mean(nn::crf_loss(scores, label, pairs));
  field.tags = nn::crf_decode(scores, pairs).tags;
  return field;
}

std::optional<Metric> chunk_metric(const Choice& choice, const Network& network) {
  using Make = Metric (*)(Value, Value, Value, ChunkOptions, SourceLocation);
  const std::pair<const char*, Make> known[] = {
      {"chunk_f1", chunk_f1}, {"chunk_precision", chunk_precision}, {"chunk_recall", chunk_recall}};
  Make make = nullptr;
  for (const auto& [name, one] : known) {
    if (choice.name == name) make = one;
  }
  if (make == nullptr) return std::nullopt;
  const bool labels = network.task == Task::labels || network.task == Task::classes;
  if (!labels || network.target.rank() != 1 || network.target.dim(0) == Dim(batch)) {
    fail_at(*choice.node,
            fmt::format("metric \"{}\" needs a label for each row of sequences", choice.name));
  }
  if (network.names.empty()) {
    fail_at(*choice.node,
            fmt::format(
                "metric \"{}\" needs labels with names such as \"B-ARG0\", and the data have none",
                choice.name));
  }
  ChunkOptions options{.tags = network.names};
  for (const char* other : data::kOtherLabels) options.tags.emplace_back(other);
  return make(predicted(network), network.target, sequence::splits(network.target), options,
              SourceLocation::current());
}

// Every row counts alike.
Metric label_accuracy(const Network& network) {
  const Value right = cast(equal(network.output, network.target), {.dtype = f64});
  const auto share = [](const Tensor& parts) {
    const double* n = parts.data<double>();
    return n[0] / n[1];
  };
  return {.name = "accuracy",
          .value = stack({sum(right), dim_size(right, {.dtype = f64})}, 0),
          .combine = Metric::Combine::sum,
          .finish = share,
          .larger_better = true};
}

}  // namespace trireme::job
