#include "session/run/gradients.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "transforms/autodiff.h"
#include "trireme/gradients.h"

namespace trireme {

namespace {

bool is_update(const std::unique_ptr<ir::Op>& op) { return ir::name_of_update(*op).has_value(); }

}  // namespace

UpdatesLast::UpdatesLast(const Value& loss) : block_(loss.get()->program->main()) {
  const auto first = std::find_if(block_.ops.begin(), block_.ops.end(), is_update);
  const bool is_before = loss.get()->producer == nullptr ||
                         std::any_of(block_.ops.begin(), first, [&](const auto& op) {
                           return op.get() == loss.get()->producer;
                         });
  if (!is_before) return;
  std::move(first, block_.ops.end(), std::back_inserter(updates_));
  block_.ops.erase(first, block_.ops.end());
}

UpdatesLast::~UpdatesLast() {
  std::move(updates_.begin(), updates_.end(), std::back_inserter(block_.ops));
}

std::vector<Value> gradients(const Value& loss, const std::vector<Value>& values,
                             SourceLocation where) {
  const std::string place = fmt::format("\n  made   at {}:{}", where.file_name(), where.line());
  if (!loss) fail_usage("gradients: the loss is empty" + place);
  std::vector<ir::Value*> wanted;
  for (const Value& value : values) {
    if (!value) fail_usage("gradients: a value is empty" + place);
    if (value.get()->program != loss.get()->program) {
      fail_usage(
          fmt::format("gradients: {} is not of the Program of the loss{}", value.str(), place));
    }
    if (!is_float(value.dtype())) {
      fail_usage(
          fmt::format("gradients: {} has no gradient, because its elements are not "
                      "floating-point numbers{}\n  hint   cast it before it is used",
                      value.str(), place));
    }
    wanted.push_back(value.get());
  }
  const UpdatesLast moved(loss);
  std::vector<Value> result;
  for (ir::Value* gradient : transforms::gradients(loss.get(), wanted)) {
    result.emplace_back(gradient);
  }
  return result;
}

}  // namespace trireme
