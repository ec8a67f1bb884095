#include "inference/model_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/feeds.h"
#include "base/json.h"
#include "plan/json.h"

namespace trireme::inference {
namespace {

using plan::Json;
using Ports = std::vector<CompiledModel::Port>;

Json to_json(const Ports& ports) {
  Json json = Json::array();
  for (const CompiledModel::Port& port : ports) {
    json.push_back({{"name", port.name},
                    {"dtype", name_of(port.dtype)},
                    {"shape", plan::to_json(port.shape)}});
    if (!port.splits_of.empty()) json.back()["splits_of"] = port.splits_of;
  }
  return json;
}

Ports read_ports(const Json& json, const char* key) {
  Ports ports;
  for (const Json& port : plan::list(json, key)) {
    ports.push_back(
        {plan::text(port, "name"), plan::dtype(port, "dtype"), plan::shape(port, "shape")});
    if (!port.contains("splits_of")) continue;
    CompiledModel::Port& made = ports.back();
    made.splits_of = plan::text(port, "splits_of");
    if (made.dtype != DType::i64 || made.shape.size() != 1) {
      fail_data(fmt::format("{} splits {}, but is no list of numbers", made.name, made.splits_of));
    }
  }
  return ports;
}

void check_format(const Json& json) {
  if (!json.is_object()) fail_data("this is not JSON, or damaged");
  if (plan::text(json, "format") != fmt::format("trireme {}", kFormat.name)) {
    fail_data("this is not a Trireme compiled model");
  }
  if (plan::integer(plan::member(json, "version"), "version") != kFormat.version) {
    fail_data("written by another version of Trireme");
  }
}

// Every feed of the Plan is an input, of that form.
void check_feeds(const ModelFile& model) {
  for (const plan::Buffer& buffer : model.plan.buffers) {
    if (buffer.kind != plan::BufferKind::feed || buffer.alias_of >= 0) continue;
    const auto same = [&](const CompiledModel::Port& port) {
      return port.name == buffer.name && port.dtype == buffer.dtype && port.shape == buffer.shape;
    };
    if (std::none_of(model.inputs.begin(), model.inputs.end(), same)) {
      fail_data(fmt::format("the plan reads {}, which is no input of that form", buffer.name));
    }
  }
}

void check_fetches(const ModelFile& model) {
  if (model.outputs.size() != model.plan.fetches.size()) {
    fail_data(
        fmt::format("{} outputs, but {} fetches", model.outputs.size(), model.plan.fetches.size()));
  }
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    const CompiledModel::Port& port = model.outputs[i];
    const plan::Buffer& buffer =
        model.plan.buffers[static_cast<std::size_t>(model.plan.fetches[i])];
    if (port.dtype != buffer.dtype || port.shape != buffer.shape) {
      fail_data(fmt::format("output {} has another form than what the plan computes", port.name));
    }
  }
}

// Checks that every symbol is known: from the inputs, from steps that define it, or, in a block,
// from the step that runs the block.
void check_sizes(const plan::Plan& plan, std::set<std::string> known) {
  for (const std::string& symbol : plan::defined_symbols(plan)) known.insert(symbol);
  const auto check = [&](const Dim& dim) {
    for (const std::string& symbol : dim.symbols()) {
      if (!known.contains(symbol)) fail_data(fmt::format("no input tells the size of {}", symbol));
    }
  };
  for (const plan::Buffer& buffer : plan.buffers) {
    for (const Dim& dim : buffer.shape) check(dim);
  }
  for (const plan::Step& step : plan.steps) {
    for (const Dim& dim : step.sizes) check(dim);
    for (const plan::Step::Scratch& scratch : step.scratch) check(scratch.bytes);
    check(step.trip.numerator);
    check(step.work);
    check(step.control.length);
    std::set<std::string> inside = known;
    for (const plan::Control::Size& size : step.control.sizes) inside.insert(size.symbol);
    for (const plan::Nested& nested : step.control.blocks) check_sizes(*nested.plan, inside);
  }
}

// The symbol whose size follows from that of `dim`, as `batch` from `batch + 1`; or empty.
std::string told_by(const Dim& dim) {
  const std::vector<std::string> symbols = dim.symbols();
  if (symbols.size() != 1) return {};
  return implied_size(dim, dim.evaluate({{symbols[0], 2}})) ? symbols[0] : std::string();
}

void check_symbols(const ModelFile& model) {
  std::set<std::string> known{plan::kSeedSymbol};
  std::set<std::string> names;
  for (const CompiledModel::Port& input : model.inputs) {
    if (!names.insert(input.name).second) {
      fail_data(fmt::format("two inputs are called {}", input.name));
    }
    for (const Dim& dim : input.shape) {
      if (const std::string symbol = told_by(dim); !symbol.empty()) known.insert(symbol);
    }
  }
  check_sizes(model.plan, known);
  for (const plan::Buffer& buffer : model.plan.buffers) {
    if (buffer.kind == plan::BufferKind::parameter && !is_constant(buffer.shape)) {
      fail_data(fmt::format("the constant {} has no certain size", buffer.name));
    }
  }
}

}  // namespace

std::string model_file_text(const ModelFile& model) {
  Json json{{"format", fmt::format("trireme {}", kFormat.name)},
            {"version", kFormat.version},
            {"name", model.name},
            {"target", model.target},
            {"inputs", to_json(model.inputs)},
            {"outputs", to_json(model.outputs)},
            {"labels", model.labels},
            {"plan", plan::to_json(model.plan)}};
  try {
    return json.dump(1) + "\n";
  } catch (const Json::exception& error) {
    fail_usage(fmt::format("a name in the model is not UTF-8: {}", error.what()));
  }
}

ModelFile parse_model_file(std::string_view text, const std::string& path) {
  const Json json = try_parse_json<Json>(text);
  try {
    check_format(json);
    ModelFile model;
    model.name = plan::text(json, "name");
    model.target = plan::text(json, "target");
    model.inputs = read_ports(json, "inputs");
    model.outputs = read_ports(json, "outputs");
    for (const Json& label : plan::list(json, "labels")) {
      if (!label.is_string()) fail_data("a label is no text");
      model.labels.push_back(label.get<std::string>());
    }
    model.plan = plan::plan_from_json(plan::member(json, "plan"));
    check_feeds(model);
    check_fetches(model);
    check_symbols(model);
    return model;
  } catch (const Error& error) {
    fail_data(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace trireme::inference
