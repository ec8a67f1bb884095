// [train] metrics of a job.

#include <fmt/core.h>

#include <algorithm>

#include "ir/program.h"
#include "session/job/field_reader.h"
#include "session/job/line.h"
#include "session/job/metric_tables.h"
#include "session/job/model.h"
#include "trireme/functions.h"
#include "trireme/nn.h"

namespace trireme::job {
namespace {

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for_each_metric([&](const MetricEntry& entry, const auto&) { names.emplace_back(entry.name); });
  return names;
}

template <class Options>
Options read_options(Table& table) {
  Options options;
  FieldReader reader(table);
  fields(reader, options);
  return options;
}

const char* text_of(Task task) {
  switch (task) {
    case Task::classes: return "classes";
    case Task::labels: return "labels";
    case Task::binary: return "zeros and ones";
    case Task::numbers: return "numbers";
  }
  return "";
}

[[noreturn]] void fail_task(const Choice& choice, Task task, const char* needs) {
  fail_at(*choice.node, fmt::format("metric \"{}\" needs a loss of {}, but this one is of {}",
                                    choice.name, needs, text_of(task)));
}

ClassOptions read_class_options(const Choice& choice, Table& table) {
  const bool both = table.has("class") && table.has("average");
  const auto options = read_options<ClassCountOptions>(table);
  if (both) fail_at(*choice.node, "is of a class or an average, not both");
  return {.average = options.average, .of_class = options.of_class.value_or(-1)};
}

StreamingAucOptions read_bins(Table& table) {
  const auto options = read_options<StreamingAucOptions>(table);
  if (!(options.low < options.high)) fail_at(table.self(), "low must be below high");
  return options;
}

using ClassMetric = Metric (*)(Value, Value, ClassOptions, SourceLocation);
using BinaryMetric = Metric (*)(Value, Value, BinaryOptions, SourceLocation);

Metric counted(const Choice& choice, Table& table, const Network& network, ClassMetric of_classes,
               BinaryMetric of_two) {
  const SourceLocation here = SourceLocation::current();
  if (network.task == Task::classes) {
    ClassOptions options = read_class_options(choice, table);
    options.ignore_index = network.labels.ignore_index;
    if (options.of_class < network.logits.dim(-1).constant()) {
      return of_classes(network.logits, network.target, options, here);
    }
    fail_at(*choice.node, fmt::format("there is no class {}: the network ends in {} classes",
                                      options.of_class, network.logits.dim(-1).str()));
  }
  if (network.task != Task::binary) fail_task(choice, network.task, "classes or zeros and ones");
  return of_two(network.logits, fitted(network.target, network.logits),
                {.threshold = read_options<ThresholdOptions>(table).threshold}, here);
}

// How much more likely the second of two classes is.
Value score_of(const Choice& choice, const Network& network) {
  if (network.task == Task::binary) return network.logits;
  if (network.labels.ignore_index) {
    fail_at(*choice.node, fmt::format("metric \"{}\" cannot leave out labels, as the loss does by "
                                      "ignore_index",
                                      choice.name));
  }
  if (network.task == Task::numbers) fail_task(choice, network.task, "zeros and ones or 2 classes");
  if (network.logits.dim(-1) != Dim(2)) {
    fail_at(*choice.node, fmt::format("metric \"{}\" needs 2 classes, but the network ends in {}",
                                      choice.name, network.logits.dim(-1).str()));
  }
  const std::vector<Value> parts = split(network.logits, {1, 1}, network.logits.rank() - 1);
  return reshape(parts[1] - parts[0], {.shape = network.target.shape()});
}

Metric of_scores(const Choice& choice, Table& table, const Network& network) {
  const Value score = score_of(choice, network);
  const Value label = network.task == Task::binary ? fitted(network.target, score) : network.target;
  if (choice.name == "auc") return auc(score, label);
  if (choice.name == "average_precision") return average_precision(score, label);
  const StreamingAucOptions options = read_bins(table);
  return choice.name == "streaming_auc" ? streaming_auc(score, label, options)
                                        : streaming_auc_error(score, label, options);
}

Metric mean_squared_error(const Value& predicted, const Value& target) {
  Metric metric = mean_of("mse", nn::mse(predicted, target));
  metric.larger_better = false;
  return metric;
}

Metric of_numbers(const Choice& choice, Table& table, const Network& network) {
  if (network.task == Task::classes) fail_task(choice, network.task, "numbers");
  const Value predicted = network.output, target = fitted(network.target, predicted);
  if (choice.name == "mse") return mean_squared_error(predicted, target);
  if (choice.name == "median_absolute_error") return median_absolute_error(predicted, target);
  if (choice.name == "absolute_error_quantile" || choice.name == "pinball_loss") {
    const double quantile = read_options<QuantileOptions>(table).quantile;
    return choice.name == "pinball_loss" ? pinball_loss(predicted, target, quantile)
                                         : absolute_error_quantile(predicted, target, quantile);
  }
  if (choice.name == "rmse") return rmse(predicted, target);
  return choice.name == "mae" ? mae(predicted, target) : r2(predicted, target);
}

Metric of_classes(const Choice& choice, Table& table, const Network& network) {
  if (choice.name == "top_k_accuracy") {
    if (network.task != Task::classes) fail_task(choice, network.task, "classes");
    return top_k_accuracy(network.logits, network.target,
                          static_cast<int>(read_options<TopOptions>(table).k), network.labels);
  }
  if (choice.name == "perplexity") {
    if (network.task != Task::classes) fail_task(choice, network.task, "classes");
    const std::optional<std::int64_t>& ignored = network.labels.ignore_index;
    const Value losses =
        nn::cross_entropy(network.logits, network.target, {.ignore_index = ignored});
    if (!ignored) return perplexity(losses);
    const Value kept = not_equal(network.target, static_cast<double>(*ignored));
    return perplexity(losses, cast(kept, {.dtype = f32}));
  }
  if (network.task == Task::numbers) {
    fail_task(choice, network.task, "classes or zeros and ones");
  }
  const bool binary = network.task == Task::binary;
  const Value target = binary ? fitted(network.target, network.logits) : network.target;
  if (choice.name == "log_loss") {
    return binary ? binary_log_loss(network.logits, target)
                  : log_loss(network.logits, target, network.labels);
  }
  return binary ? binary_accuracy(network.logits, target,
                                  {.threshold = read_options<ThresholdOptions>(table).threshold})
                : accuracy(network.logits, target, network.labels);
}

Metric of_images(const Choice& choice, Table& table, const Network& network) {
  const Value& predicted = network.output;
  if (network.task == Task::classes || predicted.rank() != 4) {
    fail_at(*choice.node, fmt::format("metric \"{}\" needs a network that ends in images [batch, "
                                      "channels, height, width], not in {}",
                                      choice.name, predicted.str()));
  }
  const Value target = fitted(network.target, predicted);
  const double range = read_options<RangeOptions>(table).range;
  return choice.name == "psnr" ? psnr(predicted, target, {.range = range})
                               : ssim(predicted, target, {.range = range});
}

// Agreement and calibration.
Metric of_predictions(const Choice& choice, Table& table, const Network& network) {
  const bool binary = network.task == Task::binary;
  if (network.task == Task::numbers) fail_task(choice, network.task, "classes or zeros and ones");
  const Value& score = network.logits;
  const Value target = binary ? fitted(network.target, score) : network.target;
  const std::optional<std::int64_t>& ignored = network.labels.ignore_index;
  if (choice.name == "calibration_error") {
    const auto options = read_options<BinOptions>(table);
    const CalibrationOptions all{
        .bins = options.bins, .norm = options.norm, .ignore_index = ignored};
    return binary ? binary_calibration_error(score, target, all)
                  : calibration_error(score, target, all);
  }
  const bool kappa = choice.name == "cohen_kappa";
  if (!binary) {
    if (!kappa) return matthews_correlation(score, target, network.labels);
    return cohen_kappa(
        score, target,
        {.weights = read_options<KappaChoice>(table).weights, .ignore_index = ignored});
  }
  const BinaryOptions options{.threshold = read_options<ThresholdOptions>(table).threshold};
  return kappa ? binary_cohen_kappa(score, target, options)
               : binary_matthews_correlation(score, target, options);
}

Metric of_rankings(const Choice& choice, const Network& network) {
  if (network.task != Task::binary || network.logits.rank() != 2 ||
      network.logits.dim(-1) == Dim(1)) {
    fail_at(*choice.node, fmt::format("metric \"{}\" needs a loss of zeros and ones and a network "
                                      "that ends in [batch, items], not in {}",
                                      choice.name, network.logits.str()));
  }
  return mean_average_precision(network.logits, fitted(network.target, network.logits));
}

// The input of the groups, which the metrics share.
Value group_input(const Network& network, const std::string& name) {
  ir::Program& program = *network.logits.get()->program;
  for (const auto& input : program.main().arguments) {
    if (input->name == name) return Value(input.get());
  }
  return Value(program.add_input(name, {DType::i64, {batch}, ""}));
}

Metric of_groups(const Choice& choice, Table& table, const Network& network) {
  if (network.task != Task::binary && network.task != Task::numbers) {
    fail_task(choice, network.task, "numbers or zeros and ones");
  }
  const Value& score = network.logits;
  const Value target = fitted(network.target, score);
  if (choice.name == "map") {
    const std::string column = read_options<GroupOptions>(table).group;
    return grouped_average_precision(score, target, group_input(network, column));
  }
  const auto options = read_options<PlacesOptions>(table);
  const Value group = group_input(network, options.group);
  if (choice.name == "hit_rate") return hit_rate(score, target, group, {.k = options.k});
  return choice.name == "ndcg" ? ndcg(score, target, group, {.k = options.k})
                               : reciprocal_rank(score, target, group, {.k = options.k});
}

Metric build_metric(const Node& node, const Network& network) {
  const Choice choice = read_choice(node, "a metric");
  Table table(*choice.options);
  const std::string& name = choice.name;
  Metric metric;
  if (std::optional<Metric> chunks = chunk_metric(choice, network)) {
    metric = std::move(*chunks);
  } else if (network.task == Task::labels) {
    if (name != "accuracy") fail_task(choice, network.task, "another kind");
    metric = label_accuracy(network);
  } else if (name == "accuracy" || name == "log_loss" || name == "perplexity" ||
             name == "top_k_accuracy") {
    metric = of_classes(choice, table, network);
  } else if (name == "precision") {
    metric = counted(choice, table, network, precision, binary_precision);
  } else if (name == "recall") {
    metric = counted(choice, table, network, recall, binary_recall);
  } else if (name == "f1") {
    metric = counted(choice, table, network, f1, binary_f1);
  } else if (name == "iou") {
    metric = counted(choice, table, network, iou, binary_iou);
  } else if (name == "calibration_error" || name == "cohen_kappa" ||
             name == "matthews_correlation") {
    metric = of_predictions(choice, table, network);
  } else if (name == "psnr" || name == "ssim") {
    metric = of_images(choice, table, network);
  } else if (name.ends_with("auc") || name == "average_precision" ||
             name == "streaming_auc_error") {
    metric = of_scores(choice, table, network);
  } else if (name == "ndcg" || name == "map" || name == "mrr" || name == "hit_rate") {
    metric = of_groups(choice, table, network);
  } else if (name == "mean_average_precision") {
    metric = of_rankings(choice, network);
  } else {
    metric = of_numbers(choice, table, network);
  }
  table.done();
  return metric;
}

void add(std::vector<Metric>& metrics, Metric metric) {
  const bool known = std::any_of(metrics.begin(), metrics.end(),
                                 [&](const Metric& other) { return other.name == metric.name; });
  if (!known) metrics.push_back(std::move(metric));
}

std::vector<Metric> default_metrics(const Settings& settings, const Network& network) {
  switch (network.task) {
    case Task::classes: {
      std::vector<Metric> metrics = {accuracy(network.logits, network.target, network.labels)};
      if (network.logits.rank() == 2 && network.confusion) {
        metrics.push_back(confusion_matrix(network.logits, network.target, network.labels));
      }
      return metrics;
    }
    case Task::labels: return {label_accuracy(network)};
    case Task::binary:
      return {binary_accuracy(network.logits, fitted(network.target, network.logits))};
    case Task::numbers: break;
  }
  const Choice loss = read_choice(*settings.loss, "a loss");
  if (loss.name == "mse") return {};
  return {mean_squared_error(network.output, fitted(network.target, network.output))};
}

}  // namespace

std::optional<bool> larger_better(std::string_view metric) {
  if (metric == "loss") return false;
  if (metric.starts_with("top_")) return true;
  // A name may end with options: "f1_3", "ndcg_10".
  std::optional<bool> known;
  std::size_t length = 0;
  for_each_metric([&](const MetricEntry& entry, const auto&) {
    const std::string_view name = entry.name;
    const bool fits =
        metric.starts_with(name) && (metric.size() == name.size() || metric[name.size()] == '_');
    if (!fits || name.size() < length) return;
    known = entry.larger_better;
    length = name.size();
  });
  return known;
}

std::vector<Metric> build_metrics(const Settings& settings, const Network& network) {
  std::vector<Metric> metrics = default_metrics(settings, network);
  if (settings.metrics == nullptr) return metrics;
  for (const Node& node : settings.metrics->items) {
    const LineGuard line(*network.output.get()->program, node);
    add(metrics, build_metric(node, network));
  }
  return metrics;
}

void check_metrics(const Settings& settings) {
  if (settings.metrics == nullptr) return;
  if (settings.metrics->kind != Node::Kind::list) {
    fail_at(*settings.metrics,
            "must be a list, such as [\"auc\", { top_k_accuracy = { k = 5 } }], but is " +
                kind_text(*settings.metrics));
  }
  const std::vector<std::string> names = known_names();
  for (const Node& node : settings.metrics->items) {
    const Choice choice = read_choice(node, "a metric");
    if (std::find(names.begin(), names.end(), choice.name) == names.end()) {
      fail_unknown(choice, "metric", names);
    }
  }
}

}  // namespace trireme::job
