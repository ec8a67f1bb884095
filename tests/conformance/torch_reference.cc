#include "torch_reference.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"

namespace trireme::conformance {
namespace {

using Json = nlohmann::json;

// Writes the numbers as text, because JSON has no NaN and no infinity. Python's float() reads them.
Json to_json(const ops::RefTensor& tensor, DType dtype) {
  std::string data;
  char text[40];
  for (double x : tensor.data) {
    std::snprintf(text, sizeof text, "%.17g ", x);
    data += text;
  }
  return {{"shape", tensor.shape}, {"dtype", name_of(dtype)}, {"data", data}};
}

Json to_json(const Attribute& attribute) {
  if (const auto* dtype = std::get_if<DType>(&attribute)) return {{"dtype", name_of(*dtype)}};
  if (const auto* shape = std::get_if<Shape>(&attribute)) {
    Json sizes = Json::array();
    for (const Dim& dim : *shape) sizes.push_back(dim.constant());
    return sizes;
  }
  return std::visit(
      [](const auto& value) -> Json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, DType> || std::is_same_v<T, Shape>) {
          return nullptr;
        } else {
          return value;
        }
      },
      attribute);
}

const ops::RefTensor& operand_value(const Run& run, const ir::Value* value) {
  return value->kind == ir::ValueKind::parameter ? run.parameters.at(value->name)
                                                 : run.inputs.at(value->name);
}

}  // namespace

void TorchReference::add(const Case& c, const Run& run,
                         const std::vector<ops::RefTensor>& expected) {
  std::string name = c.op;  // a single word in the answers
  std::replace(name.begin(), name.end(), ' ', '_');
  Json json = {{"op", name}, {"label", run.label}, {"torch_reference", c.torch_reference}};
  json["attributes"] = Json::object();
  for (const NamedAttribute& a : c.attributes) json["attributes"][a.name] = to_json(a.value);
  json["operands"] = Json::array();
  const ir::OpDef* op = ops::catalog().find(c.op);  // null for layers
  json["names"] = op ? op->operands : std::vector<std::string>();
  for (const ir::Value* x : c.operands) {
    json["operands"].push_back(to_json(operand_value(run, x), x->type.dtype));
  }
  json["results"] = Json::array();
  for (std::size_t i = 0; i < c.results.size(); ++i) {
    json["results"].push_back(to_json(expected[i], c.results[i]->type.dtype));
  }
  json["weights"] = Json::array();
  json["gradients"] = Json::array();
  if (c.loss && c.check_gradient) {
    for (const ir::Value* weight : c.weights) {
      json["weights"].push_back(weight ? to_json(operand_value(run, weight), weight->type.dtype)
                                       : Json());
    }
    std::size_t next = c.results.size();
    for (const ir::Value* x : c.operands) {
      json["gradients"].push_back(
          is_arithmetic_float(x->type.dtype) ? to_json(expected[next++], x->type.dtype) : Json());
    }
  }
  lines_.push_back(json.dump());
}

std::map<std::string, TorchColumns> TorchReference::run(const std::string& python,
                                                        const std::string& script) {
  std::string folder = (std::filesystem::temp_directory_path() / "trireme_torch_XXXXXX").string();
  if (!mkdtemp(folder.data())) fail_io("cannot create a temporary directory " + folder);
  {
    std::ofstream cases(folder + "/cases.jsonl");
    for (const std::string& line : lines_) cases << line << '\n';
    if (!cases.flush()) fail_io("cannot write " + folder + "/cases.jsonl");
  }
  const std::string command =
      "'" + python + "' '" + script + "' '" + folder + "/cases.jsonl' '" + folder + "/answers.txt'";
  const int status = std::system(command.c_str());
  std::ifstream answers(folder + "/answers.txt");
  if (status != 0 || !answers) fail_io("the PyTorch comparison failed to run: " + command);

  // Each line is one case and kind: op, "values" or "gradients", error, and the failure if any.
  std::map<std::string, TorchColumns> columns;
  std::string line;
  while (std::getline(answers, line)) {
    std::istringstream words(line);
    std::string op, kind, number, failure;
    words >> op >> kind >> number;
    const double error = std::strtod(number.c_str(), nullptr);  // streams cannot read "inf"
    std::getline(words >> std::ws, failure);
    Column& column = kind == "values" ? columns[op].values : columns[op].gradients;
    ++column.cases;
    column.worst = std::max(column.worst, error);
    if (!failure.empty()) column.fail(failure);
  }
  answers.close();
  std::filesystem::remove_all(folder);
  return columns;
}

}  // namespace trireme::conformance
