#pragma once

// Runs a Program op by op with the reference loops of the ops, in double precision. Tests of
// transforms, compiler and runtime compare with it. It is slow, and shares no code with what it
// checks.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ops/op.h"

namespace trireme::ops {

using RefTensors = std::map<std::string, RefTensor, std::less<>>;  // by name, without "%"

struct EvaluateOptions {
  bool training = true;  // which operand when_training returns
  std::uint64_t run_seed = 0;
  // Multiplies each float that an op computes by a random factor in [1 - noise, 1 + noise]: results
  // that then differ depend on how their operands are rounded.
  double noise = 0;
  std::uint64_t noise_seed = 0;
};

// Returns the values of `wanted` (inputs, parameters or results of the main block) after one run.
// `inputs` must hold every input that is needed; they bind the symbols of the shapes. `parameters`
// must hold every parameter that is needed; assign ops change them in order. Computes only ops that
// `wanted` or an assign depends on. Error(usage) for a missing input or parameter, for a wrong
// shape, and for an op without a reference loop.
std::vector<RefTensor> evaluate(const ir::Program& program, const RefTensors& inputs,
                                RefTensors& parameters, const std::vector<const ir::Value*>& wanted,
                                const EvaluateOptions& options = {});

}  // namespace trireme::ops
