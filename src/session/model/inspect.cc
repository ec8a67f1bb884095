#include "trireme/inspect.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/cache.h"
#include "base/file.h"
#include "base/number_text.h"
#include "codegen/codegen.h"
#include "device/device.h"
#include "ir/program.h"
#include "trireme/data.h"
#include "trireme/text_data.h"

namespace trireme {
namespace {

double size_of_dim(const ir::Value* value, std::size_t axis, const SymbolSizes& sizes) {
  return static_cast<double>(value->type.shape[axis].evaluate(sizes));
}

double elements(const ir::Value* value, const SymbolSizes& sizes) {
  return static_cast<double>(product(value->type.shape).evaluate(sizes));
}

// A product of matrices adds up as many products for each result as the inner dimension is long.
double matmul_flops(const ir::Op& op, const SymbolSizes& sizes) {
  const ir::Value* a = op.operands[0];
  const std::size_t back = get_attribute<bool>(op.attributes, "transpose_a") ? 2 : 1;
  const std::size_t axis = a->type.shape.size() - back;
  return 2 * elements(op.result(), sizes) * size_of_dim(a, axis, sizes);
}

// The three convolution ops multiply the same pairs: every element of the output with every element
// of one filter.
double convolution_flops(const ir::Value* output, const ir::Value* weight,
                         const SymbolSizes& sizes) {
  return 2 * elements(output, sizes) * elements(weight, sizes) / size_of_dim(weight, 0, sizes);
}

double flops_of(const ir::Op& op, const SymbolSizes& sizes) {
  const std::string& name = op.name();
  if (name == "matmul") return matmul_flops(op, sizes);
  if (name == "conv2d" || name == "conv3d")
    return convolution_flops(op.result(), op.operands[1], sizes);
  if (name == "conv2d_input_gradient" || name == "conv3d_input_gradient") {
    return convolution_flops(op.operands[0], op.operands[1], sizes);
  }
  if (name == "conv2d_weight_gradient" || name == "conv3d_weight_gradient") {
    return convolution_flops(op.operands[1], op.result(), sizes);
  }
  if (op.has(ir::Trait::view) || op.has(ir::Trait::generator) || op.has(ir::Trait::side_effect)) {
    return 0;
  }
  double largest = 0;
  for (const auto& result : op.results) largest = std::max(largest, elements(result.get(), sizes));
  if (op.has(ir::Trait::reduction)) largest = std::max(largest, elements(op.operands[0], sizes));
  return largest;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// Of "+avx2,-amx" only what is there.
std::string present(const std::string& features) {
  std::string result;
  for (std::size_t begin = 0; begin < features.size();) {
    const std::size_t end = std::min(features.find(',', begin), features.size());
    if (features[begin] == '+') {
      result += (result.empty() ? "" : " ") + features.substr(begin + 1, end - begin - 1);
    }
    begin = end + 1;
  }
  return result;
}

}  // namespace

std::string parameter_table(const Program& program) {
  std::size_t width = 9, type_width = 4;
  for (const auto& parameter : program.ir().parameters()) {
    width = std::max(width, parameter->name().size());
    type_width = std::max(type_width, parameter->value->type.str().size());
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  {:>12}  initializer\n", "parameter", width,
                                 "type", type_width, "elements");
  std::int64_t total = 0;
  for (const auto& parameter : program.ir().parameters()) {
    const std::int64_t count = product(parameter->value->type.shape).evaluate({});
    total += count;
    text += fmt::format("{:<{}}  {:<{}}  {:>12}  {}{}\n", parameter->name(), width,
                        parameter->value->type.str(), type_width, with_thousands(count),
                        parameter->initializer.name,
                        !parameter->trainable        ? " (not trained)"
                        : parameter->settings.frozen ? " (frozen)"
                                                     : "");
  }
  return text + fmt::format("{:<{}}  {:<{}}  {:>12}\n", "total", width, "", type_width,
                            with_thousands(total));
}

std::int64_t trainable_elements(const Program& program) {
  std::int64_t total = 0;
  for (const auto& parameter : program.ir().parameters()) {
    if (parameter->trainable) total += product(parameter->value->type.shape).evaluate({});
  }
  return total;
}

double count_flops(const Program& program, const SymbolSizes& sizes) {
  double total = 0;
  for (const auto& op : program.ir().main().ops) total += flops_of(*op, sizes);
  return total;
}

std::string system_information() {
  const codegen::Target target = codegen::host_target();
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<12} {}\n", std::string(name) + ":", value);
  };
  add("trireme", TRIREME_VERSION);
  add("processor", processor_name());
  add("target",
      fmt::format("{} {}, {}-byte vectors", target.triple, target.cpu, target.vector_bytes));
  add("features", present(target.features));
  add("threads", fmt::format("{} of {} processors", device::make_cpu_device(0)->threads(),
                             std::thread::hardware_concurrency()));
  add("libraries", TRIREME_LIBRARY_VERSIONS);
  add("cache", cache_directory().empty() ? "none" : cache_directory());
  add("data sets", fmt::format("{}", fmt::join(data::known_datasets(), ", ")));
  add("corpora", fmt::format("{}", fmt::join(data::known_corpora(), ", ")));
  return text;
}

}  // namespace trireme
