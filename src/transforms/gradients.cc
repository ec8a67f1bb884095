#include "trireme/gradients.h"

#include "base/error.h"
#include "ir/builder.h"
#include "transforms/autodiff.h"
#include "transforms/detached_updates.h"

namespace trireme {
namespace {

void check_value(const Value& loss, const Value& value, const ir::Location& call) {
  const auto fail = [&](const std::string& what) {
    fail_usage("gradients: " + what + "\n  line   " + call.str());
  };
  if (!value) fail("a value to differentiate by is empty");
  if (value.get()->program != loss.get()->program) {
    fail(value.str() + " belongs to another Program than the loss");
  }
  if (!is_arithmetic_float(value.dtype())) {
    fail(value.str() + " has no gradient: only f32 and f64 values have one");
  }
  const ir::Block* main = &value.get()->program->main();
  if (value.get()->kind != ir::ValueKind::parameter && value.get()->block != main) {
    fail(value.str() + " is a value inside of a nested block, such as the step of a recurrence");
  }
}

}  // namespace

std::vector<Value> gradients(const Value& loss, const std::vector<Value>& values,
                             SourceLocation where) {
  if (!loss) fail_usage("gradients: the loss is empty");
  ir::Program& program = *loss.get()->program;
  const ir::Location call = program.builder().locate(where);
  if (&program.builder().block() != &program.main()) {
    fail_usage("gradients: cannot differentiate while a nested block is built\n  line   " +
               call.str());
  }
  const transforms::DetachedUpdates updates(program);
  std::vector<ir::Value*> wanted;
  for (const Value& value : values) {
    check_value(loss, value, call);
    wanted.push_back(value.get());
  }
  wanted.push_back(loss.get());
  for (const ir::Value* value : wanted) {
    if (!updates.contains(*value)) continue;
    fail_usage("gradients: " + Value(const_cast<ir::Value*>(value)).str() +
               " is computed by the updates of an optimizer\n  line   " + call.str());
  }
  wanted.pop_back();
  std::vector<Value> result;
  for (ir::Value* gradient : transforms::gradients(loss.get(), wanted)) {
    result.emplace_back(gradient);
  }
  return result;
}

}  // namespace trireme
