#include "base/error.h"
#include "ops/common.h"

namespace trireme::ops {
namespace {

std::vector<Type> type(const TypeContext& c) {
  return {{ir::get<DType>(c.attributes, "dtype"), ir::get<Shape>(c.attributes, "shape"), ""}};
}

// What the function does is not known here; without a name there is none.
void reference(const Reference& r) {
  if (!ir::get<std::string>(r.op.attributes, "name").empty()) {
    fail_usage("host_call: functions of the host run in a Session only");
  }
}

Sample sample(std::vector<ir::Type> operands, DType dtype, Shape shape) {
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
      "What a function of yours makes of the operands, a value of `dtype` and `shape`: "
      "SessionOptions::host has it under `name`, and `key` is handed to it. It runs in the order "
      "of the "
      "Program, once for each run that needs its result, on the thread that runs the Session. With "
      "`early` minimize() places it right behind what it reads, so that what it begins runs beside "
      "the rest. "
      "Without a name the result is zeros.";
  op.traits = Trait::library | Trait::not_differentiable | Trait::random;
  op.type = type;
  op.library_kernel = "host_call";
  op.reference = reference;
  op.no_twin_reason = "what the function does is not known";
  op.samples = {sample({type_of({3, 4})}, DType::f32, {2}),
                sample({type_of({5}), type_of({2}, DType::i64)}, DType::i64, {}),
                sample({type_of({0, 3})}, DType::f64, {0, 3})};
  return op;
}

}  // namespace trireme::ops
