#include <algorithm>

#include "base/error.h"
#include "ops/common.h"
#include "ops/flops.h"

namespace trireme::ops {
namespace {

std::vector<Type> check_indices_type(const TypeContext& c) {
  const Type& indices = c.operands[0];
  require(is_index(indices.dtype), "check_indices needs integers, not " + c.operand_texts[0],
          "cast them to i64");
  require(get_attribute<std::int64_t>(c.attributes, "size") >= 0, "`size` must not be negative");
  return {indices};
}

void check_indices_reference(const Reference& r) {
  const auto size = static_cast<double>(get_attribute<std::int64_t>(r.op.attributes, "size"));
  const auto& allowed = get_attribute<std::vector<std::int64_t>>(r.op.attributes, "allowed");
  for (const double index : r.operands[0]->data) {
    const bool known = std::find(allowed.begin(), allowed.end(),
                                 static_cast<std::int64_t>(index)) != allowed.end();
    if (known || (index >= 0 && index < size)) continue;
    fail_data("check_indices: an index is outside [0, size)");
  }
  r.results[0]->data = r.operands[0]->data;
}

Sample check_indices_sample(std::vector<std::int64_t> shape, std::int64_t size,
                            DType dtype = DType::i64) {
  Sample s;
  s.operands = {type_of(std::move(shape), dtype)};
  s.attributes = {{"size", size}};
  s.low = 0;
  s.high = static_cast<double>(size);
  return s;
}

}  // namespace

Op check_indices() {
  Op op("check_indices(indices; size: int, what: string = \"\", allowed: ints = [])");
  op.doc =
      "Returns the integers unchanged after checking that all are in [0, size) or in `allowed`.\n"
      "An integer out of range is Error(data) at run time, with the layer and the line.\n"
      "Ops that gather by the result can rely on the check.\n"
      "The error names the row of a table, or says `what` if it is not empty.\n"
      "In `what`, {} stands for the integer.";
  op.traits = Trait::library | Trait::not_differentiable;
  op.flops = no_flops();
  op.type = check_indices_type;
  op.library_kernel = "check_indices";
  op.reference = check_indices_reference;
  op.torch_reference = "x[0]";
  op.samples = {check_indices_sample({9}, 5), check_indices_sample({2, 3}, 1, DType::i32),
                check_indices_sample({}, 4), check_indices_sample({0, 3}, 0),
                check_indices_sample({7, 5}, 200, DType::u8)};
  op.samples.push_back(op.samples.front());
  set_attribute(op.samples.back().attributes, "what", std::string("a place is outside"));
  op.samples.push_back(op.samples.front());
  op.samples.back().low = -1;
  set_attribute(op.samples.back().attributes, "allowed", std::vector<std::int64_t>{-1});
  return op;
}

}  // namespace trireme::ops
