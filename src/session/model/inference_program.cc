#include "session/model/inference_program.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "transforms/prune.h"
#include "transforms/specialise.h"

namespace trireme {

namespace {

// A copy of the Program whose results are copies of the outputs.
std::unique_ptr<ir::Program> copy_with_outputs(const char* what, const Program& program,
                                               const std::vector<Value>& wanted) {
  ir::Program& original = program.ir();
  std::vector<ir::Value*> outputs;
  for (const Value& output : wanted) {
    if (!output || output.get()->program != &original) {
      fail_usage(std::string(what) + ": an output is empty or belongs to another Program");
    }
    outputs.push_back(output.get());
  }
  // The clone's results are the clones of the original's: so the outputs are found again.
  struct Swapped {
    Swapped(std::vector<ir::Value*>& a_in, std::vector<ir::Value*>& b_in) : a(a_in), b(b_in) {
      std::swap(a, b);
    }
    ~Swapped() { std::swap(a, b); }  // also if there is no memory for the clone
    std::vector<ir::Value*>&a, &b;
  };
  std::unique_ptr<ir::Program> copy;
  {
    const Swapped swapped(original.main().results, outputs);
    copy = original.clone();
  }
  return copy;
}

}  // namespace

std::unique_ptr<ir::Program> inference_program(const char* what, const Program& program,
                                               const std::vector<Value>& outputs) {
  std::unique_ptr<ir::Program> copy = copy_with_outputs(what, program, outputs);
  transforms::specialise(*copy, false);
  transforms::prune(*copy,
                    {.keep_side_effects = false, .drop_inputs = true, .drop_parameters = true});
  return copy;
}

std::unique_ptr<ir::Program> network_program(const char* what, const Program& program,
                                             const std::vector<Value>& outputs) {
  std::unique_ptr<ir::Program> copy = copy_with_outputs(what, program, outputs);
  copy->updates.clear();
  auto& ops = copy->main().ops;
  std::erase_if(ops, [](const auto& op) {
    return op->has(ir::Trait::side_effect) && ir::update_of(*op).has_value();
  });
  transforms::prune(*copy, {.drop_inputs = true, .drop_parameters = true});
  return copy->clone();  // in which the names of dropped inputs are free
}

}  // namespace trireme
