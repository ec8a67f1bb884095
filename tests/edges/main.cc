// The edge suite: functions at special points, compiled in each dtype, compared with PyTorch in
// double. README.md describes the table.
//
// usage: edges [--function NAME]... [--python PATH] [--source DIR] [--keep FILE]
//
// --source DIR is the folder with edges.py. --keep FILE keeps the cases that edges.py reads.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "functions.h"
#include "ops/common.h"
#include "transforms/autodiff.h"
#include "trireme/ops.h"
#include "trireme/session.h"

namespace trireme::edges {
namespace {

using Json = nlohmann::json;

struct Arguments {
  std::vector<std::string> functions;
  std::string python = "/usr/bin/python3";
  std::string source = TRIREME_SOURCE;
  std::string keep;
};

// One function in one dtype: its Program and the combinations of its operands' entries.
struct Case {
  const Function* function;
  DType dtype;
  std::unique_ptr<Program> program;
  std::vector<Source> sources;
  std::vector<Value> fetches;  // results, then gradients
  std::size_t result_count = 0;
  std::vector<std::string> weights;  // the inputs by which results are multiplied in the loss
  std::vector<ir::Type> weight_types;
  std::size_t combinations = 1;
};

bool is_storage(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

// Adds the gradients of sum(result * weight) over the results that are floats.
void differentiate(Case& c, const std::vector<Value>& results, const std::vector<Value>& operands) {
  Value loss;
  for (const Value& y : results) {
    if (!is_arithmetic_float(y.dtype())) continue;
    const std::string name = "weight" + std::to_string(c.weights.size());
    c.weights.push_back(name);
    c.weight_types.push_back(y.get()->type);
    const Value part = sum(y * c.program->input(name, y.dtype(), y.shape()));
    loss = loss ? loss + part : part;
  }
  std::vector<ir::Value*> wanted;
  for (const Value& x : operands) {
    if (is_arithmetic_float(x.dtype())) wanted.push_back(x.get());
  }
  if (!loss || wanted.empty()) return;
  for (ir::Value* gradient : transforms::gradients(loss.get(), wanted)) {
    c.fetches.emplace_back(gradient);
  }
}

void build(Case& c) {
  const Function& function = *c.function;
  std::vector<Value> operands;
  for (std::size_t i = 0; i < c.sources.size(); ++i) {
    const Source& source = c.sources[i];
    Shape shape = {batch};
    if (source.rows) shape.push_back(static_cast<std::int64_t>(source.entries[0].size()));
    const Value x = c.program->input("x" + std::to_string(i), source.dtype, shape);
    operands.push_back(is_storage(source.dtype) ? cast(x, {.dtype = DType::f32}) : x);
  }
  const std::vector<Value> results = function.build(operands);
  for (const Value& y : results) {
    const bool stored = is_storage(c.dtype) && y.dtype() == DType::f32;
    c.fetches.push_back(stored ? cast(y, {.dtype = c.dtype}) : y);
  }
  c.result_count = c.fetches.size();
  if (function.differentiable && !is_storage(c.dtype)) differentiate(c, results, operands);
}

Case make_case(const Function& function, DType dtype) {
  Case c{&function, dtype, std::make_unique<Program>("edges"), function.sources(dtype)};
  for (const Source& source : c.sources) c.combinations *= source.entries.size();
  if (!function.compute) build(c);
  return c;
}

// The entries of operand i in combinations [begin, end), the last operand changing fastest.
Tensor operand_of(const Case& c, std::size_t i, std::size_t begin, std::size_t end) {
  const Source& source = c.sources[i];
  std::size_t after = 1;
  for (std::size_t j = i + 1; j < c.sources.size(); ++j) after *= c.sources[j].entries.size();
  std::vector<double> data;
  for (std::size_t k = begin; k < end; ++k) {
    const auto& entry = source.entries[k / after % source.entries.size()];
    data.insert(data.end(), entry.begin(), entry.end());
  }
  std::vector<std::int64_t> shape = {static_cast<std::int64_t>(end - begin)};
  if (source.rows) shape.push_back(static_cast<std::int64_t>(source.entries[0].size()));
  return Tensor::from<double>(shape, data).cast(source.dtype);
}

// Weights that differ between the elements of a row, and are 1 for functions of single numbers.
Tensor weight_of(const Case& c, std::size_t i, std::size_t count) {
  const SymbolSizes sizes = {{"batch", static_cast<std::int64_t>(count)}};
  const std::vector<std::int64_t> shape = evaluate(c.weight_types[i].shape, sizes);
  std::size_t elements = 1, row = 1;
  for (const std::int64_t size : shape) elements *= static_cast<std::size_t>(size);
  if (shape.size() > 1) row = static_cast<std::size_t>(shape[1]);
  std::vector<double> data(elements);
  for (std::size_t k = 0; k < elements; ++k) {
    data[k] = 1 + 0.5 * static_cast<double>(k % std::max<std::size_t>(row, 1) % 3);
  }
  return Tensor::from<double>(shape, data).cast(c.weight_types[i].dtype);
}

std::vector<Tensor> run(Session& session, const Case& c, std::size_t begin, std::size_t end) {
  Feeds feeds;
  for (std::size_t i = 0; i < c.sources.size(); ++i) {
    feeds["x" + std::to_string(i)] = operand_of(c, i, begin, end);
  }
  for (std::size_t i = 0; i < c.weights.size(); ++i) {
    feeds[c.weights[i]] = weight_of(c, i, end - begin);
  }
  return session.run(feeds, c.fetches, {.training = true});
}

// JSON has no NaN and no infinity, so numbers are a text. Python's float() reads them.
Json to_json(const Tensor& tensor) {
  std::string data;
  char text[40];
  const Tensor wide = tensor.cast(DType::f64);
  for (std::int64_t i = 0; i < wide.elements(); ++i) {
    std::snprintf(text, sizeof text, "%.17g ", wide.data<double>()[i]);
    data += text;
  }
  return {{"shape", tensor.shape()}, {"dtype", name_of(tensor.dtype())}, {"data", data}};
}

// The same number, up to the last digits that another order of operations may change.
bool agree(double a, double b, DType dtype) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  const double relative = dtype == DType::f64 ? 0x1p-40 : dtype == DType::f32 ? 0x1p-16 : 0x1p-6;
  const double smallest = dtype == DType::f64 ? 0x1p-1022 : 0x1p-126;
  return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b)) + smallest;
}

// Returns where the elements of `part`, which are combination `k` alone or all of them, differ from
// those of `all`; "" if nowhere.
std::string difference(const std::vector<Tensor>& all, const std::vector<Tensor>& part,
                       std::size_t k) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Tensor a = all[i].cast(DType::f64), b = part[i].cast(DType::f64);
    const std::int64_t first =
        b.elements() == a.elements() ? 0 : static_cast<std::int64_t>(k) * b.elements();
    for (std::int64_t j = 0; j < b.elements(); ++j) {
      const double x = a.data<double>()[first + j], y = b.data<double>()[j];
      if (agree(x, y, all[i].dtype())) continue;
      char text[120];
      std::snprintf(text, sizeof text, "output %zu, element %lld: %.9g, but %.9g", i,
                    static_cast<long long>(first + j), x, y);
      return text;
    }
  }
  return "";
}

using Texts = std::vector<std::string>;

void note(Texts& found, const Case& c, const std::string& how, const std::string& what) {
  if (what.empty()) return;
  found.push_back(c.function->name + " in " + std::string(name_of(c.dtype)) + ", " + how + ": " +
                  what);
}

// What the function of one number returns on the host.
Tensor on_host(const Case& c) {
  const Tensor x = operand_of(c, 0, 0, c.combinations).cast(DType::f64);
  Tensor y(DType::f64, x.shape());
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    y.data<double>()[i] = c.function->host(x.data<double>()[i]);
  }
  return y;
}

// Runs the case in every kind of Session, all combinations at once and some alone. Adds what
// differs to `found`. Returns the results and gradients.
std::vector<Tensor> run_built(const Case& c, Texts& found) {
  Session session(*c.program, {.threads = 1});
  std::vector<Tensor> expected = run(session, c, 0, c.combinations);
  const std::size_t step = 1 + c.combinations / 64;
  for (std::size_t k = 0; k < c.combinations; k += step) {
    note(found, c, "alone", difference(expected, run(session, c, k, k + 1), k));
  }
  run(session, c, 0, 0);
  const std::pair<const char*, SessionOptions> kinds[] = {
      {"2 threads", {.threads = 2}},
      {"interpreter", {.threads = 1, .interpreter = true}},
      {"unfused", {.threads = 1, .fuse = false}}};
  for (const auto& [how, options] : kinds) {
    Session other(*c.program, options);
    note(found, c, how, difference(expected, run(other, c, 0, c.combinations), 0));
  }
  if (c.function->host) note(found, c, "on the host", difference(expected, {on_host(c)}, 0));
  return expected;
}

// The same for a function that runs Sessions of its own.
std::vector<Tensor> run_computed(Case& c, Texts& found) {
  std::vector<Tensor> x;
  for (std::size_t i = 0; i < c.sources.size(); ++i) {
    x.push_back(operand_of(c, i, 0, c.combinations));
  }
  std::vector<Tensor> expected = c.function->compute(x, {.threads = 1});
  c.result_count = expected.size();
  const std::pair<const char*, SessionOptions> kinds[] = {
      {"2 threads", {.threads = 2}}, {"interpreter", {.threads = 1, .interpreter = true}}};
  for (const auto& [how, options] : kinds) {
    note(found, c, how, difference(expected, c.function->compute(x, options), 0));
  }
  return expected;
}

Json attributes_of(const Function& function) {
  Json json = Json::object();
  for (const NamedAttribute& a : function.attributes) {
    if (const auto* dtype = std::get_if<DType>(&a.value))
      json[a.name] = {{"dtype", name_of(*dtype)}};
    else if (const auto* number = std::get_if<double>(&a.value)) json[a.name] = *number;
    else if (const auto* integer = std::get_if<std::int64_t>(&a.value)) json[a.name] = *integer;
    else if (const auto* flag = std::get_if<bool>(&a.value)) json[a.name] = *flag;
  }
  return json;
}

Json record_of(const Case& c, const std::vector<Tensor>& outputs) {
  Json json = {{"function", c.function->name},  {"dtype", name_of(c.dtype)},
               {"torch", c.function->torch},    {"attributes", attributes_of(*c.function)},
               {"signs", !c.function->compute}, {"as_f32", c.function->as_f32}};
  for (const char* key : {"operands", "weights", "results", "gradients"}) json[key] = Json::array();
  for (std::size_t i = 0; i < c.sources.size(); ++i) {
    json["operands"].push_back(to_json(operand_of(c, i, 0, c.combinations)));
  }
  for (std::size_t i = 0; i < c.weights.size(); ++i) {
    json["weights"].push_back(to_json(weight_of(c, i, c.combinations)));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    json[i < c.result_count ? "results" : "gradients"].push_back(to_json(outputs[i]));
  }
  return json;
}

std::vector<Function> all_functions() {
  std::vector<Function> all;
  for (auto make : {op_functions, row_functions, activation_functions, loss_functions,
                    optimizer_functions, schedule_functions, metric_functions, layer_functions,
                    window_functions, attention_functions, transform_functions, matrix_functions,
                    table_functions, sequence_functions}) {
    for (Function& function : make()) all.push_back(std::move(function));
  }
  return all;
}

// Writes the records of all cases. Returns what differs between kinds of Sessions.
Texts write_cases(const Arguments& arguments, std::ostream& file) {
  Texts found;
  const auto& names = arguments.functions;
  for (const Function& function : all_functions()) {
    if (!names.empty() && std::find(names.begin(), names.end(), function.name) == names.end())
      continue;
    for (const DType dtype : function.dtypes) {
      try {
        Case c = make_case(function, dtype);
        const std::vector<Tensor> outputs =
            function.compute ? run_computed(c, found) : run_built(c, found);
        file << record_of(c, outputs).dump() << '\n';
      } catch (const std::exception& error) {
        found.push_back(function.name + " in " + std::string(name_of(dtype)) + ": " + error.what());
      }
    }
  }
  return found;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i], value = argv[i + 1];
    if (word == "--function") arguments.functions.push_back(value);
    else if (word == "--python") arguments.python = value;
    else if (word == "--source") arguments.source = value;
    else if (word == "--keep") arguments.keep = value;
    else fail_usage("edges: unknown option " + word);
  }
  return arguments;
}

int run(const Arguments& arguments) {
  std::string folder = (std::filesystem::temp_directory_path() / "trireme_edges_XXXXXX").string();
  if (!mkdtemp(folder.data())) fail_io("cannot create a temporary directory " + folder);
  const std::string cases = arguments.keep.empty() ? folder + "/cases.jsonl" : arguments.keep;
  Texts found;
  {
    std::ofstream file(cases);
    found = write_cases(arguments, file);
    if (!file.flush()) fail_io("cannot write " + cases);
  }
  const std::string command =
      "'" + arguments.python + "' '" + arguments.source + "/edges.py' '" + cases + "'";
  const int status = std::system(command.c_str());
  std::filesystem::remove_all(folder);
  for (const std::string& text : found) std::printf("FAIL %s\n", text.c_str());
  std::printf("%zu differences between kinds of Sessions\n", found.size());
  return status == 0 && found.empty() ? 0 : 1;
}

}  // namespace
}  // namespace trireme::edges

int main(int argc, char** argv) {
  try {
    return trireme::edges::run(trireme::edges::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
