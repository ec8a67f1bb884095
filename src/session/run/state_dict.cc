#include "trireme/state.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/safetensors.h"
#include "session/run/parameters.h"
#include "session/run/state_names.h"

namespace trireme {
namespace {

using ShapeSizes = std::vector<std::int64_t>;

Tensor transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.dim(0), columns = matrix.dim(1);
  Tensor result = Tensor::uninitialized(matrix.dtype(), {columns, rows});
  const std::size_t size = size_of(matrix.dtype());
  for (std::int64_t i = 0; i < columns; ++i) {
    for (std::int64_t j = 0; j < rows; ++j) {
      std::memcpy(result.bytes() + static_cast<std::size_t>(i * rows + j) * size,
                  matrix.bytes() + static_cast<std::size_t>(j * columns + i) * size, size);
    }
  }
  return result;
}

// The values for the parameters of a Program, from the tensors of a StateDict.
class Loading {
 public:
  Loading(const ir::Program& program, const StateDict& tensors, const LoadOptions& options)
      : program_(program), tensors_(tensors), options_(options), names_(program, options) {
    for (const ir::Parameter* parameter : network_parameters(program)) add(*parameter);
    for (const std::string& name : names_.ignored()) used_.insert(name);
    for (const auto& [name, tensor] : tensors) {
      if (!used_.contains(name)) report_.unexpected.push_back(name);
    }
    report_.missing.assign(missing_.begin(), missing_.end());
  }

  void check() const;
  const std::vector<std::pair<const ir::Parameter*, Tensor>>& values() const { return values_; }
  LoadReport& report() { return report_; }

 private:
  void add(const ir::Parameter& parameter);
  // The tensor; null if it is missing or does not fit, which is noted.
  const Tensor* find(const std::string& name, const ir::Parameter& parameter,
                     const ShapeSizes& shape);
  // Null if a tensor is missing or does not fit.
  std::optional<Tensor> sum(const ir::Parameter& parameter, const ir::TorchSource& source);

  const ir::Program& program_;
  const StateDict& tensors_;
  const LoadOptions& options_;
  StateNames names_;
  std::set<std::string> used_, missing_;
  std::vector<std::string> misfits_;
  std::vector<std::pair<const ir::Parameter*, Tensor>> values_;
  LoadReport report_;
};

const Tensor* Loading::find(const std::string& name, const ir::Parameter& parameter,
                            const ShapeSizes& shape) {
  used_.insert(name);
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    missing_.insert(name);
    return nullptr;
  }
  const DType dtype = parameter.value->type.dtype;
  if (found->second.dtype() == dtype && found->second.shape() == shape) return &found->second;
  const Shape wanted(shape.begin(), shape.end());
  misfits_.push_back(fmt::format("\"{}\" is {}, \"{}\" needs {}{}", name, found->second.type_str(),
                                 parameter.name(), name_of(dtype), str(wanted)));
  return nullptr;
}

std::optional<Tensor> Loading::sum(const ir::Parameter& parameter, const ir::TorchSource& source) {
  const DType dtype = parameter.value->type.dtype;
  ShapeSizes shape = evaluate(parameter.value->type.shape, {});
  if (source.transposed) std::reverse(shape.begin(), shape.end());
  Tensor total(f64, shape);
  // -0 changes no number that is added to it.
  std::fill_n(total.data<double>(), total.elements(), -0.0);
  const std::int64_t row = shape[0] == 0 ? 0 : total.elements() / shape[0];
  bool complete = true;
  for (const ir::TorchTerm& term : source.terms) {
    double* to = total.data<double>() + term.to * row;
    if (term.tensor.empty()) {
      for (std::int64_t i = 0; i < term.rows * row; ++i) to[i] += term.number;
      continue;
    }
    ShapeSizes whole = shape;
    whole[0] = term.size;
    const Tensor* tensor = find(term.tensor, parameter, whole);
    complete = complete && tensor != nullptr;
    if (!complete) continue;
    const Tensor rows = tensor->rows(term.from, term.from + term.rows).cast(f64);
    for (std::int64_t i = 0; i < rows.elements(); ++i) to[i] += rows.data<double>()[i];
  }
  if (!complete) return std::nullopt;
  const Tensor result = total.cast(dtype);
  return source.transposed ? transposed(result) : result;
}

void Loading::add(const ir::Parameter& parameter) {
  const StateNames::Source source = names_.source_of(parameter);
  if (!source.torch.terms.empty()) {
    if (auto value = sum(parameter, source.torch)) values_.emplace_back(&parameter, *value);
    return;
  }
  const ShapeSizes shape = evaluate(parameter.value->type.shape, {});
  const Tensor* tensor = find(source.name, parameter, shape);
  if (tensor != nullptr) values_.emplace_back(&parameter, *tensor);
}

// "\n  missing    3: "a", "b", "c"", or nothing. Lists only the first names.
std::string line_of(const char* what, const std::vector<std::string>& names, bool quoted) {
  constexpr std::size_t kListed = 6;
  if (names.empty()) return "";
  std::string text = fmt::format("\n  {:<10} {}: ", what, names.size());
  for (std::size_t i = 0; i < std::min(kListed, names.size()); ++i) {
    if (i > 0) text += quoted ? ", " : "; ";
    text += quoted ? "\"" + names[i] + "\"" : names[i];
  }
  if (names.size() > kListed) text += fmt::format(" and {} more", names.size() - kListed);
  return text;
}

void Loading::check() const {
  const bool names_differ = !report_.missing.empty() || !report_.unexpected.empty();
  if (misfits_.empty() && !(options_.strict && names_differ)) return;
  std::string text = fmt::format(
      "load_state_dict: the tensors do not match the parameters of {}; nothing was loaded",
      program_.name);
  if (options_.strict) {
    text += line_of("missing", report_.missing, true);
    text += line_of("unexpected", report_.unexpected, true);
  }
  text += line_of("different", misfits_, false);
  if (options_.strict && names_differ) {
    text +=
        "\n  hint   .modules says which modules are which layers; .strict = false loads the "
        "names that match";
  }
  fail_usage(text);
}

}  // namespace

StateDict state_dict(const Session& session) {
  StateDict result;
  ParameterStore& store = SessionAccess::parameters(session);
  for (const ir::Parameter* parameter : network_parameters(SessionAccess::program(session))) {
    result.emplace(parameter->name(), store.get(*parameter).clone());
  }
  return result;
}

LoadReport load_state_dict(Session& session, const StateDict& tensors, const LoadOptions& options) {
  Loading loading(SessionAccess::program(session), tensors, options);
  loading.check();
  ParameterStore& store = SessionAccess::parameters(session);
  // All memory is there before the first parameter changes.
  for (const auto& [parameter, value] : loading.values()) store.get(*parameter);
  for (const auto& [parameter, value] : loading.values()) store.set(*parameter, value);
  return std::move(loading.report());
}

void save_safetensors(const std::string& path, const StateDict& tensors,
                      const std::map<std::string, std::string>& metadata) {
  write_safetensors(path, {tensors, metadata, {}});
}

StateDict load_safetensors(const std::string& path, std::map<std::string, std::string>* metadata) {
  Safetensors content = read_safetensors(path);
  if (!content.foreign.empty()) {
    const auto& [name, dtype] = *content.foreign.begin();
    fail_data(fmt::format(
        "{}: the tensor \"{}\" has the dtype {}, which Trireme lacks\n"
        "  hint   convert it to F32, F64, F16, BF16, I64, I32, U8 or BOOL before saving",
        path, name, dtype));
  }
  if (metadata != nullptr) *metadata = std::move(content.metadata);
  return std::move(content.tensors);
}

}  // namespace trireme
