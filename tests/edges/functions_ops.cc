#include <algorithm>
#include <limits>
#include <set>

#include "functions.h"
#include "ops/common.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/numeric.h"

namespace trireme::edges {
namespace {

bool is_tried(const ops::Op& op) {
  using ir::Trait;
  return op.has(Trait::elementwise) && !op.has(Trait::internal) && !op.has(Trait::side_effect) &&
         !op.has(Trait::random) && !op.torch_reference.empty();
}

// The numbers for an operand that has dtype `sampled` in the op's samples, where `tested` replaces
// f32.
Source source_of(DType sampled, DType tested, bool alone) {
  if (sampled == DType::f32) return alone ? points(tested) : few_points(tested);
  if (sampled == DType::boolean) return numbers(sampled, {0, 1});
  return numbers(sampled, {0, 1, -1, 2, -2, 3, 7, -8, 100, 2147483647});
}

std::string key_of(const ops::Sample& sample) {
  std::string key;
  for (const ir::Type& type : sample.operands) key += std::string(name_of(type.dtype)) + " ";
  for (const NamedAttribute& a : sample.attributes) key += a.name + print_attribute(a.value);
  return key;
}

Function function_of(const ops::Op& op, const ops::Sample& sample) {
  Function f{.name = op.name, .torch = op.torch_reference, .attributes = sample.attributes};
  std::vector<DType> dtypes;
  for (const ir::Type& type : sample.operands) dtypes.push_back(type.dtype);
  const bool fixed = op.name == "bitcast";  // between dtypes of one size
  if (fixed || std::find(dtypes.begin(), dtypes.end(), DType::f32) == dtypes.end()) {
    f.dtypes = {dtypes[0]};
  }
  f.sources = [dtypes](DType tested) {
    std::vector<Source> sources;
    for (const DType dtype : dtypes) {
      sources.push_back(source_of(dtype, tested, dtypes.size() == 1));
    }
    return sources;
  };
  f.build = [name = op.name, attributes = sample.attributes](const std::vector<Value>& x) {
    std::vector<ir::Value*> operands;
    for (const Value& value : x) operands.push_back(value.get());
    ir::Program& program = *operands[0]->program;
    std::vector<Value> results;
    const ir::Op* op = program.append(program.main(), name, operands, attributes, {});
    for (const auto& result : op->results) results.emplace_back(result.get());
    return results;
  };
  f.differentiable = op.gradient && !op.has(ir::Trait::not_differentiable);
  return f;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::size_t kWidths[] = {4, 1, 37};

// The function of rows of each width, along the last axis. A function of `empty` rows is also
// tried with width 0.
void add_row(std::vector<Function>& functions, const std::string& name, const std::string& torch,
             const std::function<std::vector<Value>(const Value&)>& build, bool empty = false,
             bool differentiable = true) {
  std::vector<std::size_t> widths(std::begin(kWidths), std::end(kWidths));
  if (empty) widths.push_back(0);
  for (const std::size_t width : widths) {
    functions.push_back({.name = name,
                         .torch = torch,
                         .sources = [width](DType d) { return std::vector{rows(d, width)}; },
                         .build = [build](auto& x) { return build(x[0]); },
                         .differentiable = differentiable});
  }
}

void add_reductions(std::vector<Function>& all) {
  const std::vector<std::int64_t> last = {1};
  add_row(
      all, "sum", "x[0].sum(1)", [=](auto& x) { return std::vector{sum(x, {.axes = last})}; },
      true);
  add_row(
      all, "mean", "x[0].mean(1)", [=](auto& x) { return std::vector{mean(x, {.axes = last})}; },
      true);
  add_row(
      all, "prod", "x[0].prod(1)", [=](auto& x) { return std::vector{prod(x, {.axes = last})}; },
      true);
  add_row(
      all, "reduce_max", "x[0].amax(1)",
      [=](auto& x) { return std::vector{reduce_max(x, {.axes = last})}; }, true);
  add_row(
      all, "reduce_min", "x[0].amin(1)",
      [=](auto& x) { return std::vector{reduce_min(x, {.axes = last})}; }, true);
  add_row(
      all, "norm", "torch.linalg.vector_norm(x[0], dim=1)",
      [=](auto& x) { return std::vector{norm(x, {.axes = last})}; }, true);
  add_row(all, "variance", "((x[0] - x[0].mean(1, keepdim=True)) ** 2).mean(1)",
          [=](auto& x) { return std::vector{variance(x, {.axes = last})}; });
  add_row(all, "stddev", "exact.stddev(x[0])",
          [=](auto& x) { return std::vector{stddev(x, {.axes = last})}; });
  add_row(
      all, "logsumexp", "exact.logsumexp(x[0])",
      [=](auto& x) { return std::vector{logsumexp(x, {.axes = last})}; }, true);
  for (const auto& [word, p] : {std::pair{"1", 1.0}, std::pair{"3", 3.0},
                                std::pair{"math.inf", kInfinity}, std::pair{"0", 0.0}}) {
    add_row(all, std::string("vector_norm of ") + word,
            std::string("exact.vector_norm(x[0], ") + word + ")",
            [=, p = p](auto& x) { return std::vector{vector_norm(x, p, {.axes = last})}; });
  }
  add_row(
      all, "argmax", "x[0].argmax(1)",
      [=](auto& x) { return std::vector{argmax(x, {.axes = last})}; }, false, false);
  add_row(
      all, "argmin", "x[0].argmin(1)",
      [=](auto& x) { return std::vector{argmin(x, {.axes = last})}; }, false, false);
}

void add_scans(std::vector<Function>& all) {
  add_row(
      all, "cumsum", "x[0].cumsum(1)", [](auto& x) { return std::vector{cumsum(x, {.axis = 1})}; },
      true);
  add_row(all, "cumprod", "exact.cumprod(x[0])",
          [](auto& x) { return std::vector{cumprod(x, 1)}; });
  add_row(
      all, "cummax", "list(x[0].cummax(1))", [](auto& x) { return cummax(x, {.axis = 1}); }, true);
  add_row(
      all, "sort", "list(x[0].sort(dim=1, stable=True))",
      [](auto& x) { return sort(x, {.axis = 1}); }, true);
  add_row(
      all, "sort descending", "list(x[0].sort(dim=1, stable=True, descending=True))",
      [](auto& x) { return sort(x, {.axis = 1, .descending = true}); }, true);
  add_row(
      all, "argsort", "x[0].sort(dim=1, stable=True)[1]",
      [](auto& x) { return std::vector{argsort(x, {.axis = 1})}; }, true, false);
  // Of equal elements PyTorch may return any. A stable sort shows which are the first.
  add_row(all, "top_k", "[part[:, :1] for part in x[0].sort(dim=1, stable=True, descending=True)]",
          [](auto& x) { return top_k(x, {.k = 1, .axis = 1}); });
}

void add_normalization(std::vector<Function>& all) {
  add_row(
      all, "softmax", "F.softmax(x[0], 1)", [](auto& x) { return std::vector{softmax(x)}; }, true);
  add_row(
      all, "log_softmax", "F.log_softmax(x[0], 1)",
      [](auto& x) { return std::vector{log_softmax(x)}; }, true);
  add_row(all, "layer_norm", "F.layer_norm(x[0], x[0].shape[1:])",
          [](auto& x) { return std::vector{nn::layer_norm(x, {.affine = false})}; });
  add_row(all, "rms_norm", "x[0] * torch.rsqrt((x[0] ** 2).mean(1, keepdim=True) + 1e-6)",
          [](auto& x) { return std::vector{nn::rms_norm(x, {.affine = false})}; });
  add_row(all, "local_response_norm",
          "F.local_response_norm(x[0][:, :, None], 3, alpha=1)[:, :, 0]",
          [](auto& x) { return std::vector{nn::local_response_norm(x, {.size = 3, .alpha = 1})}; });
  add_row(all, "group_norm", "F.group_norm(x[0][:, :, None], 1)[:, :, 0]", [](auto& x) {
    return std::vector{
        squeeze(nn::group_norm(unsqueeze(x, 2), {.groups = 1, .affine = false}), {2})};
  });
  add_row(all, "instance_norm", "exact.normalized(x[0])",
          [](auto& x) { return std::vector{squeeze(nn::instance_norm(unsqueeze(x, 1)), {1})}; });
  add_row(all, "max_pool", "F.max_pool1d(x[0][:, None], 3, 1, 1)[:, 0]", [](auto& x) {
    const Value image = unsqueeze(unsqueeze(x, 1), 1);
    return std::vector{
        squeeze(nn::max_pool(image, {.kernel = {1, 3}, .stride = {1}, .padding = {0, 1}}), {1, 2})};
  });
  add_row(all, "avg_pool", "F.avg_pool1d(x[0][:, None], 3, 1, 1)[:, 0]", [](auto& x) {
    const Value image = unsqueeze(unsqueeze(x, 1), 1);
    return std::vector{
        squeeze(nn::avg_pool(image, {.kernel = {1, 3}, .stride = {1}, .padding = {0, 1}}), {1, 2})};
  });
}

}  // namespace

std::vector<Function> op_functions() {
  std::vector<Function> functions;
  for (const std::string& name : ops::catalog().names()) {
    const ops::Op& op = *ops::catalog().find(name);
    if (!is_tried(op)) continue;
    std::set<std::string> seen;
    for (const ops::Sample& sample : op.samples) {
      if (seen.insert(key_of(sample)).second) functions.push_back(function_of(op, sample));
    }
  }
  return functions;
}

std::vector<Function> row_functions() {
  std::vector<Function> functions;
  add_reductions(functions);
  add_scans(functions);
  add_normalization(functions);
  return functions;
}

}  // namespace trireme::edges
