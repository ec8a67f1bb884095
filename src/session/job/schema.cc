// The catalog and the schema of job files as JSON, written by visitors of nn/catalog and tables.h.

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/signature_json.h"
#include "nn/catalog/initializers.h"
#include "nn/catalog/layers.h"
#include "nn/catalog/losses.h"
#include "nn/catalog/optimizers.h"
#include "nn/catalog/schedules.h"
#include "ops/op.h"
#include "session/job/data_tables.h"
#include "session/job/metric_tables.h"
#include "session/job/model_tables.h"
#include "session/job/schedule_tables.h"
#include "session/job/text_tables.h"
#include "trireme/job.h"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;
using nn::Field;

// Whole numbers as integers: 1, not 1.0.
Json number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

Json value_of(const nn::Pair& pair) {
  if (pair.height == pair.width) return pair.height;
  return Json::array({pair.height, pair.width});
}

Json value_of(const nn::Triple& triple) {
  const auto [depth, height, width] = triple;
  if (depth == height && height == width) return depth;
  return Json::array({depth, height, width});
}

// Describes every field as an object: name, type, default, limits, unit and doc.
class FieldWriter {
 public:
  explicit FieldWriter(Json& list) : list_(list) {}

  void operator()(const Field& f, bool& v) { add(f, "boolean", v); }
  void operator()(const Field& f, std::int64_t& v) { add(f, "integer", v); }
  void operator()(const Field& f, std::uint64_t& v) { add(f, "integer", v); }
  void operator()(const Field& f, int& v) { add(f, "integer", v); }
  void operator()(const Field& f, double& v) { add(f, "number", number(v)); }
  void operator()(const Field& f, std::string& v) { add(f, "text", v); }
  void operator()(const Field& f, std::vector<std::int64_t>& v) { add(f, "integers", v); }
  void operator()(const Field& f, std::vector<double>& v) { add(f, "numbers", v); }
  void operator()(const Field& f, std::vector<std::string>& v) { add(f, "texts", v); }
  void operator()(const Field& f, nn::Pair& v) { add(f, "pair", value_of(v)); }
  void operator()(const Field& f, nn::Padding&) { add(f, "padding", 0); }
  void operator()(const Field& f, nn::Triple& v) { add(f, "triple", value_of(v)); }
  void operator()(const Field& f, nn::Padding1d&) { add(f, "padding1d", 0); }
  void operator()(const Field& f, nn::Padding3d&) { add(f, "padding3d", 0); }
  void operator()(const Field& f, nn::Activation&) { add(f, "activation", nullptr); }
  void operator()(const Field& f, std::optional<Initializer>&) {
    add(f, "text", nullptr);
    Json choices = Json::array();
    for (const auto& [name, initializer] : nn::initializer_words()) choices.push_back(name);
    list_.back()["choices"] = choices;
  }
  void operator()(const Field& f, const job::Node*&) { add(f, f.definition, nullptr); }
  template <class T>
  void operator()(const Field& f, std::optional<T>& v) {
    T value = v.value_or(T(1));
    (*this)(f, value);
    if (!v) list_.back()["default"] = nullptr;
  }
  template <class Enum>
  void operator()(const Field& f, Enum& v, const nn::Words<Enum>& words) {
    Json choices = Json::array();
    Json chosen;
    for (const auto& [name, meaning] : words) {
      choices.push_back(name);
      if (meaning == v) chosen = name;
    }
    add(f, "text", chosen);
    list_.back()["choices"] = choices;
  }

 private:
  void add(const Field& f, const char* type, const Json& value) {
    Json field = {{"name", f.name}, {"type", type}};
    if (f.required) field["required"] = true;
    else field["default"] = *f.default_text != '\0' ? Json(nullptr) : value;
    if (*f.default_text != '\0') field["default_text"] = f.default_text;
    if (std::isfinite(f.limits.min)) {
      field[f.limits.open_min ? "above" : "min"] = number(f.limits.min);
    }
    if (std::isfinite(f.limits.max)) {
      field[f.limits.open_max ? "below" : "max"] = number(f.limits.max);
    }
    if (*f.unit != '\0') field["unit"] = f.unit;
    field["doc"] = f.doc;
    list_.push_back(std::move(field));
  }

  Json& list_;
};

template <class Options>
Json fields_of(Options options) {
  Json list = Json::array();
  FieldWriter writer(list);
  fields(writer, options);
  return list;
}

Json layers() {
  Json list = Json::array();
  nn::for_each_layer([&](const nn::Entry& entry, const auto& options, const auto&) {
    list.push_back({{"name", entry.name}, {"doc", entry.doc}, {"options", fields_of(options)}});
  });
  nn::for_each_join([&](const nn::Entry& entry, const auto& options, const auto&) {
    list.push_back({{"name", entry.name},
                    {"doc", entry.doc},
                    {"joins", true},
                    {"options", fields_of(options)}});
  });
  return list;
}

const char* text_of(nn::Task task) {
  switch (task) {
    case nn::Task::classes: return "classes";
    case nn::Task::labels: return "labels";
    case nn::Task::binary: return "zeros and ones";
    case nn::Task::numbers: break;
  }
  return "numbers";
}

Json losses() {
  Json list = Json::array();
  nn::for_each_loss([&](const nn::LossEntry& entry, const auto& options, const auto&) {
    list.push_back({{"name", entry.name},
                    {"target", text_of(entry.task)},
                    {"prediction", entry.doc},
                    {"options", fields_of(options)}});
  });
  return list;
}

Json optimizers() {
  Json list = Json::array();
  for_each_optimizer([&](const nn::Entry& entry, auto options) {
    Json described = Json::array();
    FieldWriter writer(described);
    optimizer_fields(writer, options);
    list.push_back({{"name", entry.name}, {"doc", entry.doc}, {"options", described}});
  });
  return list;
}

Json schedules() {
  Json list = Json::array();
  nn::for_each_schedule([&](const nn::Entry& entry, const auto& options, const auto&) {
    Json described = fields_of(options);
    for (Json& field : fields_of(nn::WarmupOptions{})) described.push_back(std::move(field));
    list.push_back({{"name", entry.name}, {"doc", entry.doc}, {"options", described}});
  });
  Json described = fields_of(job::SequentialSchedule{});
  for (Json& field : fields_of(nn::WarmupOptions{})) described.push_back(std::move(field));
  list.push_back({{"name", job::kSequential},
                  {"doc", "Schedules one after another, each from its own first update"},
                  {"options", described}});
  return list;
}

Json averages() {
  Json list = Json::array();
  job::for_each_average([&](const nn::Entry& entry, const auto& options, const auto&) {
    list.push_back({{"name", entry.name}, {"doc", entry.doc}, {"options", fields_of(options)}});
  });
  return list;
}

// In place of the name of a data set.
Json sources() {
  Json list = Json::array();
  job::for_each_source([&](const nn::Entry& entry, const auto& table) {
    list.push_back({{"name", entry.name}, {"doc", entry.doc}, {"options", fields_of(table)}});
  });
  list.push_back(
      {{"name", "texts"}, {"doc", "A corpus of texts"}, {"options", fields_of(job::TextsTable{})}});
  return list;
}

Json models() {
  Json list = Json::array();
  job::for_each_model([&](const job::ModelEntry& entry, const auto& options, const auto& keys) {
    Json described = fields_of(options);
    for (Json& field : fields_of(keys)) described.push_back(std::move(field));
    list.push_back({{"name", entry.name}, {"doc", entry.doc}, {"options", described}});
  });
  return list;
}

Json metrics() {
  Json list = Json::array();
  job::for_each_metric([&](const job::MetricEntry& entry, const auto& options) {
    list.push_back({{"name", entry.name},
                    {"doc", entry.doc},
                    {"larger_better", entry.larger_better},
                    {"options", fields_of(options)}});
  });
  return list;
}

Json augmentations() {
  Json list = Json::array();
  job::for_each_augmentation([&](const nn::Entry& entry, const auto& options, const auto&) {
    list.push_back({{"name", entry.name}, {"doc", entry.doc}, {"options", fields_of(options)}});
  });
  return list;
}

// The tables of a job file and those inside them.
Json tables() {
  Distribution distribution;
  Json servers = fields_of(distribution);
  FieldWriter writer(servers);
  server_fields(writer, distribution);
  return {{"data", fields_of(job::DataSettings{})},
          {"train", fields_of(job::TrainSettings{})},
          {"output", fields_of(job::OutputSettings{})},
          {"checkpoint", fields_of(job::CheckpointTable{})},
          {"distributed", servers},
          {"early_stopping", fields_of(job::EarlyStoppingTable{})},
          {"clip", fields_of(Clip{})},
          {"parameters", fields_of(ParameterSettings{})},
          {"eviction", fields_of(Distribution::Eviction{})},
          {"filter", fields_of(job::FilterTable{})},
          {"sample", fields_of(job::SampleTable{})},
          {"search", fields_of(job::SearchTable{})}};
}

Json ops() {
  Json list = Json::array();
  for (const std::string& name : ops::catalog().names()) {
    const ops::Op& op = *ops::catalog().find(name);
    Json json = Json::parse(ir::signature_json(op));
    json["signature"] = op.signature;
    json["doc"] = op.doc;
    json["elementwise"] = op.has(ir::Trait::elementwise);
    json["internal"] = op.has(ir::Trait::internal);
    json["blocks"] = op.control != ir::ControlFlow::none;
    list.push_back(std::move(json));
  }
  return list;
}

Json catalog() {
  return {
      {"format", 1},
      {"ops", ops()},
      {"layers", layers()},
      {"activations", nn::activation_names()},
      {"losses", losses()},
      {"optimizers", optimizers()},
      {"schedules", schedules()},
      {"averages", averages()},
      {"models", models()},
      {"sources", sources()},
      {"augmentations", augmentations()},
      {"metrics", metrics()},
      {"texts",
       {{"text", fields_of(job::TextTable{})}, {"skip_grams", fields_of(job::SkipGramTable{})}}},
      {"tables", tables()}};
}

}  // namespace

std::string catalog_json() { return catalog().dump(1) + "\n"; }

}  // namespace trireme
