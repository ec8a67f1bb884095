#pragma once

// Runs a Program op by op with the ops' reference loops, in double precision: the oracle for
// transforms, compiler and runtime. Slow on purpose; shares no code with what it checks.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ops/op.h"

namespace trireme::ops {

using RefTensors = std::map<std::string, RefTensor, std::less<>>;  // by name, without "%"

struct EvaluateOptions {
  bool training = true;  // which side of when_training is taken
  std::uint64_t run_seed = 0;
};

// What `wanted` (inputs, parameters or results of the main block) hold after one run. `inputs` must
// hold every input that is needed; they bind the symbols of the shapes. `parameters` must hold all
// parameters that are needed and is changed by assign ops, in their order. Only what leads to
// `wanted` or to an assign is computed.
// Errors (usage): a missing or misshapen input or parameter, an op that has no reference loop.
std::vector<RefTensor> evaluate(const ir::Program& program, const RefTensors& inputs,
                                RefTensors& parameters, const std::vector<const ir::Value*>& wanted,
                                const EvaluateOptions& options = {});

}  // namespace trireme::ops
