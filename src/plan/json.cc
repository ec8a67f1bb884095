#include "plan/json.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/attributes.h"
#include "base/error.h"
#include "base/number_text.h"

namespace trireme::plan {

// --- Writing

namespace {

constexpr std::pair<BufferKind, const char*> kKinds[] = {{BufferKind::parameter, "parameter"},
                                                         {BufferKind::feed, "feed"},
                                                         {BufferKind::fetch, "fetch"},
                                                         {BufferKind::arena, "arena"},
                                                         {BufferKind::own, "own"}};
constexpr std::pair<Control::Kind, const char*> kControls[] = {
    {Control::Kind::cond, "cond"},
    {Control::Kind::while_loop, "while_loop"},
    {Control::Kind::scan, "scan"},
    {Control::Kind::rnn, "rnn"}};
// Blocks in blocks: more are damage.
constexpr int kMaxLevels = 32;

Json to_json(const Dim& dim) {
  if (dim.is_constant()) return dim.constant();
  return dim.str();
}

Json to_json(const Buffer& buffer) {
  const char* kind = "";
  for (const auto& [known, name] : kKinds) {
    if (known == buffer.kind) kind = name;
  }
  Json json{{"name", buffer.name},
            {"kind", kind},
            {"dtype", name_of(buffer.dtype)},
            {"shape", plan::to_json(buffer.shape)}};
  if (buffer.first_step >= 0) json["steps"] = {buffer.first_step, buffer.last_step};
  if (buffer.alias_of >= 0) json["alias_of"] = buffer.alias_of;
  return json;
}

void write_kernel(const Step& step, Json& json) {
  json["kernel"] = step.kernel;
  Json sizes = Json::array();
  for (const Dim& size : step.sizes) sizes.push_back(to_json(size));
  json["sizes"] = std::move(sizes);
  json["trip"] = {to_json(step.trip.numerator), step.trip.denominator};
  json["work"] = to_json(step.work);
  if (step.scratch.empty()) return;
  json["scratch"] = Json::array();
  for (const Step::Scratch& scratch : step.scratch) {
    json["scratch"].push_back({scratch.buffer, to_json(scratch.bytes)});
  }
}

Json to_json(const Control& control) {
  const auto* known = std::find_if(std::begin(kControls), std::end(kControls),
                                   [&](const auto& pair) { return pair.first == control.kind; });
  Json json{{"kind", known->second},
            {"extra", control.extra},
            {"carried", control.carried},
            {"sequences", control.sequences},
            {"reverse", control.reverse},
            {"limit", control.limit},
            {"length", to_json(control.length)},
            {"argument_rows", control.argument_rows},
            {"result_rows", control.result_rows}};
  json["sizes"] = Json::array();
  for (const Control::Size& size : control.sizes) {
    json["sizes"].push_back({{"symbol", size.symbol},
                             {"splits", size.splits},
                             {"by_row", size.by_row},
                             {"of", size.of}});
  }
  json["blocks"] = Json::array();
  for (const Nested& nested : control.blocks) {
    json["blocks"].push_back(
        {{"arguments", nested.arguments}, {"plan", plan::to_json(*nested.plan)}});
  }
  return json;
}

// {"ints": [1, 1]}. Floats are texts, so that NaN and infinity can be written.
Json to_json(const Attribute& attribute) {
  struct Writer {
    Json operator()(bool value) const { return value; }
    Json operator()(std::int64_t value) const { return value; }
    Json operator()(double value) const { return float_text(value); }
    Json operator()(const std::string& value) const { return value; }
    Json operator()(const std::vector<std::int64_t>& values) const { return values; }
    Json operator()(const std::vector<double>& values) const {
      Json list = Json::array();
      for (const double value : values) list.push_back(float_text(value));
      return list;
    }
    Json operator()(DType value) const { return name_of(value); }
    Json operator()(const Shape& value) const { return plan::to_json(value); }
  };
  return {{kind_of(attribute), std::visit(Writer(), attribute)}};
}

Json to_json(const Step& step) {
  Json json{{"name", step.name},
            {"buffers", step.buffers},
            {"reads", step.reads},
            {"writes", step.writes}};
  if (!step.defines.empty()) json["defines"] = step.defines;
  if (step.kernel >= 0) {
    write_kernel(step, json);
  } else if (step.control.kind != Control::Kind::none) {
    json["control"] = to_json(step.control);
  } else {
    Json attributes = Json::object();
    for (const NamedAttribute& attribute : step.library.attributes) {
      attributes[attribute.name] = to_json(attribute.value);
    }
    json["library"] = {{"kernel", step.library.kernel}, {"attributes", std::move(attributes)}};
  }
  return json;
}

}  // namespace

Json to_json(const Shape& shape) {
  Json json = Json::array();
  for (const Dim& dim : shape) json.push_back(to_json(dim));
  return json;
}

Json to_json(const Plan& plan) {
  Json json;
  json["symbols"] = plan.symbols;
  json["buffers"] = Json::array();
  for (const Buffer& buffer : plan.buffers) json["buffers"].push_back(to_json(buffer));
  json["kernels"] = Json::array();
  for (const Kernel& kernel : plan.kernels) {
    json["kernels"].push_back({{"name", kernel.name}, {"symbol", kernel.symbol}});
  }
  json["steps"] = Json::array();
  for (const Step& step : plan.steps) json["steps"].push_back(to_json(step));
  json["fetches"] = plan.fetches;
  json["program_bytes"] = to_json(plan.program_bytes);
  return json;
}

// --- Reading

const Json& member(const Json& object, const char* key) {
  if (!object.is_object()) fail_data(fmt::format("no object where \"{}\" should be", key));
  const auto found = object.find(key);
  if (found == object.end()) fail_data(fmt::format("\"{}\" is missing", key));
  return *found;
}

const Json& list(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_array()) fail_data(fmt::format("\"{}\" is no list", key));
  return value;
}

std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) fail_data(fmt::format("\"{}\" is no text", key));
  return value.get<std::string>();
}

std::int64_t integer(const Json& value, const char* what, std::int64_t low, std::int64_t high) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<std::uint64_t>() <= kLargest);
  const std::int64_t number = fits ? value.get<std::int64_t>() : 0;
  if (!fits || number < low || number > high) {
    fail_data(fmt::format("\"{}\" has a value that it cannot have", what));
  }
  return number;
}

namespace {

constexpr int kLargestIndex = std::numeric_limits<int>::max();

Dim dim(const Json& value, const char* what) {
  if (value.is_number()) return Dim(integer(value, what));
  const std::optional<Dim> parsed =
      value.is_string() ? Dim::parse(value.get<std::string>()) : std::nullopt;
  if (!parsed) fail_data(fmt::format("\"{}\" has a value that is no size", what));
  return *parsed;
}

int index(const Json& value, const char* what, int low) {
  return static_cast<int>(integer(value, what, low, kLargestIndex));
}

std::vector<int> indices(const Json& object, const char* key, int low) {
  std::vector<int> result;
  for (const Json& value : list(object, key)) result.push_back(index(value, key, low));
  return result;
}

// object[key], a list of two values.
const Json& two(const Json& value, const char* what) {
  if (!value.is_array() || value.size() != 2) {
    fail_data(fmt::format("\"{}\" is no list of two", what));
  }
  return value;
}

std::string as_text(const Json& value, const char* what) {
  if (!value.is_string()) fail_data(fmt::format("\"{}\" has a value that is no text", what));
  return value.get<std::string>();
}

BufferKind kind_of(const std::string& name) {
  for (const auto& [kind, known] : kKinds) {
    if (name == known) return kind;
  }
  fail_data(fmt::format("\"{}\" is no kind of buffer", name));
}

Buffer read_buffer(const Json& json) {
  Buffer buffer;
  buffer.name = text(json, "name");
  buffer.kind = kind_of(text(json, "kind"));
  buffer.dtype = dtype(json, "dtype");
  buffer.shape = shape(json, "shape");
  if (json.contains("steps")) {
    const Json& steps = two(member(json, "steps"), "steps");
    buffer.first_step = index(steps.at(0), "steps", 0);
    buffer.last_step = index(steps.at(1), "steps", 0);
  }
  if (json.contains("alias_of")) buffer.alias_of = index(member(json, "alias_of"), "alias_of", 0);
  return buffer;
}

void read_kernel(const Json& json, Step& step) {
  step.kernel = index(member(json, "kernel"), "kernel", 0);
  for (const Json& size : list(json, "sizes")) step.sizes.push_back(dim(size, "sizes"));
  const Json& trip = two(member(json, "trip"), "trip");
  step.trip.numerator = dim(trip.at(0), "trip");
  step.trip.denominator = integer(trip.at(1), "trip", 1, std::int64_t{1} << 62);
  step.work = dim(member(json, "work"), "work");
  if (!json.contains("scratch")) return;
  for (const Json& scratch : list(json, "scratch")) {
    two(scratch, "scratch");
    step.scratch.push_back({index(scratch.at(0), "scratch", 0), dim(scratch.at(1), "scratch")});
  }
}

double as_float(const Json& value, const std::string& name) {
  const auto number = value.is_string() ? parse_float(value.get<std::string>()) : std::nullopt;
  if (!number) fail_data(fmt::format("\"{}\" is not the text of a number", name));
  return *number;
}

// `json` is what to_json(Attribute) wrote: one pair of kind and value.
Attribute read_attribute(const Json& json, const std::string& name) {
  if (!json.is_object() || json.size() != 1) {
    fail_data(fmt::format("attribute \"{}\" is not a pair of kind and value", name));
  }
  const std::string& kind = json.begin().key();
  const Json& value = json.begin().value();
  if (kind == "bool" && value.is_boolean()) return value.get<bool>();
  if (kind == "int") return integer(value, name.c_str());
  if (kind == "float") return as_float(value, name);
  if (kind == "string") return as_text(value, name.c_str());
  if (kind == "dtype") return dtype(json, "dtype");
  if (kind == "shape") return shape(json, "shape");
  if (kind == "ints") {
    std::vector<std::int64_t> values;
    for (const Json& each : list(json, "ints")) values.push_back(integer(each, name.c_str()));
    return values;
  }
  if (kind == "floats") {
    std::vector<double> values;
    for (const Json& each : list(json, "floats")) values.push_back(as_float(each, name));
    return values;
  }
  fail_data(fmt::format("attribute \"{}\" has the unknown kind \"{}\"", name, kind));
}

// Trireme 0.1 wrote all numbers and booleans as lists of integers, and the strings apart.
void read_untyped_attributes(const Json& json, Attributes& attributes) {
  for (const auto& [name, values] : member(json, "numbers").items()) {
    if (!values.is_array()) fail_data(fmt::format("\"{}\" is not a list", name));
    std::vector<std::int64_t> read;
    for (const Json& value : values) read.push_back(integer(value, "numbers"));
    set_attribute(attributes, name, std::move(read));
  }
  for (const auto& [name, value] : member(json, "texts").items()) {
    set_attribute(attributes, name, as_text(value, "texts"));
  }
}

LibraryCall read_library(const Json& json) {
  LibraryCall call;
  call.kernel = text(json, "kernel");
  if (!json.contains("attributes")) {
    read_untyped_attributes(json, call.attributes);
    return call;
  }
  const Json& attributes = member(json, "attributes");
  if (!attributes.is_object()) fail_data("\"attributes\" is not an object");
  for (const auto& [name, value] : attributes.items()) {
    set_attribute(call.attributes, name, read_attribute(value, name));
  }
  return call;
}

bool boolean(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_boolean()) fail_data(fmt::format("\"{}\" is neither true nor false", key));
  return value.get<bool>();
}

Plan read_plan(const Json& json, int level);

Control read_control(const Json& json, int level) {
  Control control;
  const std::string kind = text(json, "kind");
  for (const auto& [known, name] : kControls) {
    if (kind == name) control.kind = known;
  }
  if (control.kind == Control::Kind::none) fail_data("\"" + kind + "\" is no kind of blocks");
  control.extra = index(member(json, "extra"), "extra", 0);
  control.carried = index(member(json, "carried"), "carried", 0);
  control.sequences = index(member(json, "sequences"), "sequences", 0);
  control.reverse = boolean(json, "reverse");
  control.limit = integer(member(json, "limit"), "limit", 0);
  control.length = dim(member(json, "length"), "length");
  control.argument_rows = indices(json, "argument_rows", -1);
  control.result_rows = indices(json, "result_rows", -1);
  for (const Json& size : list(json, "sizes")) {
    control.sizes.push_back({text(size, "symbol"), index(member(size, "splits"), "splits", -1),
                             boolean(size, "by_row"), index(member(size, "of"), "of", 0)});
  }
  for (const Json& block : list(json, "blocks")) {
    control.blocks.push_back({std::make_shared<Plan>(read_plan(member(block, "plan"), level + 1)),
                              indices(block, "arguments", 0)});
  }
  return control;
}

Step read_step(const Json& json, int level) {
  Step step;
  step.name = text(json, "name");
  step.buffers = indices(json, "buffers", -1);
  step.reads = indices(json, "reads", 0);
  step.writes = indices(json, "writes", 0);
  if (json.contains("defines")) step.defines = text(json, "defines");
  if (json.contains("library")) step.library = read_library(member(json, "library"));
  else if (json.contains("control")) step.control = read_control(member(json, "control"), level);
  else read_kernel(json, step);
  return step;
}

// Other storage than the arena's is as long as its own buffer says: what shares it must fit.
void check_aliases(const Plan& plan) {
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    const Buffer& root = plan.buffers[static_cast<std::size_t>(root_of(plan, static_cast<int>(i)))];
    if (root.kind == BufferKind::arena || &root == &buffer) continue;
    const auto bytes = [](const Buffer& b) {
      return product(b.shape) * Dim(static_cast<std::int64_t>(size_of(b.dtype)));
    };
    if (bytes(buffer) != bytes(root)) {
      fail_data(fmt::format("buffer {} ({}) shares the memory of {}, which has another size", i,
                            buffer.name, root.name));
    }
  }
  for (const Step& step : plan.steps) {
    for (const Nested& nested : step.control.blocks) check_aliases(*nested.plan);
  }
}

Plan read_plan(const Json& json, int level) {
  if (level > kMaxLevels) fail_data("blocks lie too deep in each other");
  Plan plan;
  for (const Json& symbol : list(json, "symbols")) {
    plan.symbols.push_back(as_text(symbol, "symbols"));
  }
  for (const Json& buffer : list(json, "buffers")) plan.buffers.push_back(read_buffer(buffer));
  for (const Json& kernel : list(json, "kernels")) {
    plan.kernels.push_back({.name = text(kernel, "name"), .symbol = text(kernel, "symbol")});
  }
  for (const Json& step : list(json, "steps")) plan.steps.push_back(read_step(step, level));
  plan.fetches = indices(json, "fetches", 0);
  plan.program_bytes = dim(member(json, "program_bytes"), "program_bytes");
  return plan;
}

}  // namespace

Shape shape(const Json& object, const char* key) {
  Shape result;
  for (const Json& value : list(object, key)) result.push_back(dim(value, key));
  return result;
}

DType dtype(const Json& object, const char* key) {
  const std::string name = text(object, key);
  DType result{};
  if (!parse_dtype(name, &result)) fail_data(fmt::format("\"{}\" is no dtype", name));
  return result;
}

Plan plan_from_json(const Json& json) {
  try {
    Plan plan = read_plan(json, 0);
    verify(plan);
    check_aliases(plan);
    return plan;
  } catch (const Error& error) {  // of verify() too, and of sizes that no Dim can have
    fail_data(error.what());
  }
}

}  // namespace trireme::plan
