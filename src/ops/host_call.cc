#include "base/error.h"
#include "ops/common.h"
#include "ops/flops.h"

namespace trireme::ops {
namespace {

std::vector<Type> host_call_type(const TypeContext& c) {
  return {{get_attribute<DType>(c.attributes, "dtype"), get_attribute<Shape>(c.attributes, "shape"),
           ""}};
}

// The function is not available here. Without a name there is no function.
void host_call_reference(const Reference& r) {
  if (!get_attribute<std::string>(r.op.attributes, "name").empty()) {
    fail_usage("host_call: functions of the host run only in a Session");
  }
}

Sample host_call_sample(std::vector<ir::Type> operands, DType dtype, Shape shape) {
  Sample s;
  s.operands = std::move(operands);
  s.attributes = {{"name", std::string()}, {"dtype", dtype}, {"shape", std::move(shape)}};
  return s;
}

}  // namespace

Op host_call() {
  Op op(
      "host_call(xs...; name: string, key: string = \"\", dtype: dtype, shape: shape = [], early: "
      "bool "
      "= false)");
  op.doc =
      "Calls a function of the host with the operands; the result is a value of `dtype` and "
      "`shape`.\n"
      "SessionOptions::host holds the function under `name`, and `key` is passed to it.\n"
      "It runs in the order of the Program, once for each run that needs its result.\n"
      "It runs on the thread that runs the Session.\n"
      "With `early`, minimize() places it directly after the values it reads.\n"
      "Work that it starts then overlaps with the rest of the Program.\n"
      "If `name` is empty, the result is zeros.";
  op.traits = Trait::library | Trait::not_differentiable | Trait::random;
  op.flops = no_flops();
  op.type = host_call_type;
  op.library_kernel = "host_call";
  op.reference = host_call_reference;
  op.no_torch_reason = "the result depends on the host function";
  op.samples = {host_call_sample({type_of({3, 4})}, DType::f32, {2}),
                host_call_sample({type_of({5}), type_of({2}, DType::i64)}, DType::i64, {}),
                host_call_sample({type_of({0, 3})}, DType::f64, {0, 3})};
  return op;
}

}  // namespace trireme::ops
