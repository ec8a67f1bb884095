// onnx_node_cases FOLDER [--interpreter] [NAME...]: imports and runs the test cases that
// tests/onnx/node_cases.py has written, and prints a line for each:
//
//   passed NAME none|some|all      whether no, some or all inputs were given as constants, because
//                                  the operator needs them when it is imported
//   random NAME                    its numbers are random; only their types and shapes are compared
//   failed NAME REASON
//   missing NAME REASON            it cannot be imported
//
// Numbers may differ by the relative and absolute tolerance of the case.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "onnx/importer.h"
#include "onnx/proto.h"
#include "onnx/tensor.h"
#include "trireme/onnx.h"
#include "trireme/session.h"

namespace fs = std::filesystem;
using namespace trireme;  // NOLINT

namespace {

// A tensor, or a sequence of tensors.
struct Port {
  bool is_sequence = false;
  std::vector<Tensor> tensors;
};

// The relative and the absolute tolerance, 1 if the numbers are random, then a line for each port:
// "in NAME tensor FILE" or "out NAME sequence FILE FILE".
struct Case {
  std::string model;
  double relative = 1e-3, absolute = 1e-7;
  bool is_random = false;
  std::vector<std::pair<std::string, Port>> inputs;
  std::vector<Port> outputs;
};

Case read_case(const fs::path& folder) {
  Case c;
  c.model = read_file((folder / "model.onnx").string());
  std::ifstream list(folder / "case.txt");
  list >> c.relative >> c.absolute >> c.is_random;
  onnx::ExternalFiles none{std::nullopt};
  std::string line;
  while (std::getline(list, line)) {
    std::istringstream words(line);
    std::string way, name, kind, file;
    if (!(words >> way >> name >> kind)) continue;
    Port port{kind == "sequence", {}};
    while (words >> file) {
      const std::string bytes = read_file((folder / file).string());
      port.tensors.push_back(onnx::tensor_of(onnx::parse_tensor(bytes, file), none));
    }
    if (way == "in") c.inputs.emplace_back(name, std::move(port));
    else c.outputs.push_back(std::move(port));
  }
  return c;
}

enum class Constants { none, some, all };

// Whether an input is one that decides shapes, by its looks.
bool looks_like_sizes(const Tensor& tensor) {
  return !is_float(tensor.dtype()) && tensor.rank() <= 1 && tensor.elements() <= 64;
}

std::vector<Tensor> run(const Case& c, Constants constants, bool interpreter) {
  onnx::ImportOptions options;
  Feeds feeds;
  for (const auto& [name, port] : c.inputs) {
    if (port.is_sequence) {
      options.sequences[name] = port.tensors;
    } else if (constants == Constants::all ||
               (constants == Constants::some && looks_like_sizes(port.tensors.at(0)))) {
      options.constants[name] = port.tensors.at(0);
    } else {
      feeds[onnx::program_name(name)] = port.tensors.at(0);
    }
  }
  const onnx::ImportedModel model = onnx::import_bytes(c.model, options);
  Session session(model.program, {.threads = 1, .interpreter = interpreter});
  for (const auto& [name, tensor] : model.state) session.set_parameter(name, tensor);
  Feeds used;
  for (const std::string& name : model.inputs) used[name] = feeds.at(name);
  return session.run(used, model.program.outputs());
}

std::string difference(const Case& c, const Tensor& got, const Tensor& wanted) {
  if (got.dtype() != wanted.dtype() || got.shape() != wanted.shape()) {
    return got.type_str() + " instead of " + wanted.type_str();
  }
  if (c.is_random) return "";
  if (!is_float(got.dtype()))
    return equal(got, wanted) ? "" : "other numbers: " + got.str() + " instead of " + wanted.str();
  const Tensor a = got.cast(f64), b = wanted.cast(f64);
  // A half is rounded after each step in other implementations.
  const double absolute = is_half(got.dtype()) ? std::max(c.absolute, 2e-3) : c.absolute;
  const double relative = got.dtype() == bf16 ? 1e-2 : got.dtype() == f16 ? 2e-3 : c.relative;
  double largest = 0;
  for (std::int64_t i = 0; i < b.elements(); ++i) {
    if (std::isfinite(b.data<double>()[i]))
      largest = std::max(largest, std::abs(b.data<double>()[i]));
  }
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!(std::abs(x - y) <= std::max(absolute + relative * std::abs(y), 1e-6 * largest))) {
      return "element " + std::to_string(i) + " is " + std::to_string(x) + " instead of " +
             std::to_string(y);
    }
  }
  return "";
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ';');
  return text.substr(0, 300);
}

void check(const fs::path& folder, bool interpreter) {
  const std::string name = folder.filename().string();
  const Case c = read_case(folder);
  std::string missing;
  for (const Constants constants : {Constants::none, Constants::some, Constants::all}) {
    std::vector<Tensor> got;
    try {
      got = run(c, constants, interpreter);
    } catch (const Error& error) {
      missing = one_line(error.what());
      if (error.kind() == ErrorKind::usage) continue;
      std::cout << "failed " << name << " " << missing << std::endl;
      return;
    }
    std::vector<Tensor> wanted;
    for (const Port& port : c.outputs)
      wanted.insert(wanted.end(), port.tensors.begin(), port.tensors.end());
    std::string reason =
        got.size() == wanted.size()
            ? ""
            : std::to_string(got.size()) + " outputs instead of " + std::to_string(wanted.size());
    for (std::size_t i = 0; i < wanted.size() && reason.empty(); ++i)
      reason = difference(c, got[i], wanted[i]);
    static const char* const kWords[] = {"none", "some", "all"};
    if (reason.empty() && c.is_random) std::cout << "random " << name << std::endl;
    else if (reason.empty())
      std::cout << "passed " << name << " " << kWords[static_cast<int>(constants)] << std::endl;
    else std::cout << "failed " << name << " " << one_line(reason) << std::endl;
    return;
  }
  std::cout << "missing " << name << " " << missing << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + std::min(argc, 2), argv + argc);
  const bool interpreter = std::erase(names, "--interpreter") > 0;
  if (argc < 2) {
    std::cerr << "usage: onnx_node_cases FOLDER [--interpreter] [NAME...]\n";
    return 2;
  }
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(argv[1])) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  for (const fs::path& folder : folders) {
    if (!names.empty() && std::find(names.begin(), names.end(), folder.filename()) == names.end())
      continue;
    try {
      check(folder, interpreter);
    } catch (const std::exception& error) {
      std::cout << "failed " << folder.filename().string() << " " << one_line(error.what())
                << std::endl;
    }
  }
}
