// trireme convert and trireme export: models of ONNX to saved models, and back.

#include "trireme/onnx.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "support.h"
#include "trireme/error.h"
#include "trireme/session.h"
#include "trireme/state.h"

namespace commands {
namespace {

namespace tr = trireme;
using Json = nlohmann::ordered_json;

[[noreturn]] void fail_argument(const std::string& option, const std::string& given,
                                const std::string& form) {
  throw tr::Error(tr::ErrorKind::usage, option + " " + given + ": it is not of the form " + form +
                                            "\n  hint   trireme convert --help has examples");
}

// The parts of NAME=VALUE. A name may contain '='; a value does not.
std::pair<std::string, std::string> name_and_value(const std::string& option,
                                                   const std::string& given,
                                                   const std::string& form) {
  const std::size_t at = given.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == given.size())
    fail_argument(option, given, form);
  return {given.substr(0, at), given.substr(at + 1)};
}

// The number that the whole text is; no value if it is none.
std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

tr::SymbolSizes sizes_of(const std::vector<std::string>& given) {
  constexpr const char* kForm = "SYMBOL=N, such as batch=1";
  tr::SymbolSizes sizes;
  for (const std::string& one : given) {
    const auto [name, value] = name_and_value("--size", one, kForm);
    const auto size = whole_number(value);
    if (!size || *size < 0) fail_argument("--size", one, kForm);
    sizes[name] = *size;
  }
  return sizes;
}

std::map<std::string, tr::Shape> shapes_of(const std::vector<std::string>& given) {
  constexpr const char* kForm = "INPUT=SIZE,SIZE..., such as x=batch,3,224,224";
  std::map<std::string, tr::Shape> shapes;
  for (const std::string& one : given) {
    const auto [name, value] = name_and_value("--shape", one, kForm);
    tr::Shape& shape = shapes[name];
    std::stringstream sizes(value);
    for (std::string size; std::getline(sizes, size, ',');) {
      const auto number = whole_number(size);
      const bool symbol = !size.empty() && std::isalpha(static_cast<unsigned char>(size[0])) != 0 &&
                          std::all_of(size.begin(), size.end(), [](unsigned char c) {
                            return std::isalnum(c) != 0 || c == '_';
                          });
      if (!(number && *number >= 0) && !symbol) fail_argument("--shape", one, kForm);
      shape.push_back(number ? tr::Dim(*number) : tr::Dim(size));
    }
  }
  return shapes;
}

// Appends the numbers of nested lists in order and checks that lists of one level are equally long.
void append_numbers(const Json& json, std::size_t depth, std::vector<std::int64_t>& shape,
                    std::vector<Json>& numbers) {
  if (!json.is_array()) {
    if (depth != shape.size() || !(json.is_number() || json.is_boolean())) throw std::exception();
    numbers.push_back(json);
    return;
  }
  const auto size = static_cast<std::int64_t>(json.size());
  if (shape.size() == depth && numbers.empty()) shape.push_back(size);
  if (depth >= shape.size() || shape[depth] != size) throw std::exception();
  for (const Json& each : json) append_numbers(each, depth + 1, shape, numbers);
}

// Integers as i64, others as f64: the import casts them to the dtype of the input.
tr::Tensor tensor_of(const Json& json) {
  std::vector<std::int64_t> shape;
  std::vector<Json> numbers;
  append_numbers(json, 0, shape, numbers);
  const bool integers = std::all_of(numbers.begin(), numbers.end(), [](const Json& number) {
    return number.is_number_integer() || number.is_boolean();
  });
  tr::Tensor tensor(integers ? tr::i64 : tr::f64, shape);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Json number = numbers[i].is_boolean() ? Json(numbers[i] == true ? 1 : 0) : numbers[i];
    if (integers) tensor.data<std::int64_t>()[i] = number.get<std::int64_t>();
    else tensor.data<double>()[i] = number.get<double>();
  }
  return tensor;
}

std::map<std::string, tr::Tensor> constants_of(const std::vector<std::string>& given) {
  constexpr const char* kForm = "INPUT=VALUE, such as k=5, shape=[2,3] or scale=[[0.5],[2]]";
  std::map<std::string, tr::Tensor> constants;
  for (const std::string& one : given) {
    const auto [name, value] = name_and_value("--constant", one, kForm);
    try {
      constants[name] = tensor_of(Json::parse(value));
    } catch (const std::exception&) {
      fail_argument("--constant", one, kForm);
    }
  }
  return constants;
}

std::vector<std::string> lines_of(const std::string& path) {
  if (path.empty()) return {};
  std::ifstream file(path);
  if (!file) throw tr::Error(tr::ErrorKind::not_found, "cannot open " + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

std::string comma_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

// How pictures become the input f32[batch, channels, height, width].
std::map<std::string, tr::ImagePreprocessing> images_of(const tr::Program& program,
                                                        const std::string& input) {
  if (input.empty()) return {};
  for (const tr::Value& value : program.inputs()) {
    if (value.name().substr(1) != input) continue;
    const tr::Shape& shape = value.shape();
    const bool fits = value.dtype() == tr::f32 && shape.size() == 4 && shape[1].is_constant() &&
                      shape[2].is_constant() && shape[3].is_constant() &&
                      (shape[1] == tr::Dim(1) || shape[1] == tr::Dim(3));
    if (!fits) {
      throw tr::Error(tr::ErrorKind::usage,
                      "--image " + input + ": the input is " + std::string(name_of(value.dtype())) +
                          tr::str(shape) +
                          ", and pictures are f32[batch, 1 or 3, height, width] with known sizes"
                          "\n  hint   set the sizes: --shape " +
                          input + "=batch,3,224,224");
    }
    return {{input,
             {.channels = static_cast<int>(shape[1].constant()),
              .height = shape[2].constant(),
              .width = shape[3].constant()}}};
  }
  std::vector<std::string> names;
  for (const tr::Value& value : program.inputs()) names.push_back(value.name().substr(1));
  throw tr::Error(tr::ErrorKind::usage, "--image " + input + ": the model has no such input" +
                                            "\n  hint   " + "its inputs are " + comma_list(names));
}

}  // namespace

void convert(const ConvertArguments& arguments) {
  const tr::onnx::ImportedModel imported =
      tr::onnx::import_model(arguments.model, {.constants = constants_of(arguments.constants),
                                               .shapes = shapes_of(arguments.shapes),
                                               .sizes = sizes_of(arguments.sizes),
                                               .max_bytes = arguments.max_bytes,
                                               .max_nodes = arguments.max_nodes});
  for (const std::string& warning : imported.warnings)
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  tr::Session session(imported.program);
  tr::load_state_dict(session, imported.state);
  tr::save_model(imported.program, session, arguments.output,
                 {.inputs = imported.program.inputs(),
                  .outputs = imported.program.outputs(),
                  .output_names = imported.outputs,
                  .labels = lines_of(arguments.labels),
                  .preprocessing = images_of(imported.program, arguments.image)});
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : imported.state) numbers += tensor.elements();
  if (arguments.json) {
    const Json json = {{"folder", arguments.output},
                       {"inputs", imported.inputs},
                       {"outputs", imported.outputs},
                       {"parameters", numbers},
                       {"warnings", imported.warnings}};
    std::printf("%s\n", json_text(json, 2).c_str());
    return;
  }
  std::printf("%s: saved, inputs %s, outputs %s, %lld parameters\n", arguments.output.c_str(),
              comma_list(imported.inputs).c_str(), comma_list(imported.outputs).c_str(),
              static_cast<long long>(numbers));
}

void export_onnx(const ExportArguments& arguments) {
  tr::Model model = tr::load_model(arguments.model);
  tr::onnx::export_model(model, arguments.output, {.opset = arguments.opset});
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(arguments.output));
  if (arguments.json) {
    const Json json = {{"file", arguments.output}, {"opset", arguments.opset}, {"bytes", bytes}};
    std::printf("%s\n", json_text(json, 2).c_str());
    return;
  }
  std::printf("%s: written, version %lld of ONNX's operators, %lld bytes\n",
              arguments.output.c_str(), static_cast<long long>(arguments.opset),
              static_cast<long long>(bytes));
}

}  // namespace commands
