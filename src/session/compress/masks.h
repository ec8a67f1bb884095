#pragma once

// The weights of a Program that have masks.

#include <string>
#include <vector>

#include "ir/program.h"

namespace trireme::compression {

inline constexpr const char* kMask = ".mask";
inline constexpr const char* kScore = ".score";

struct MaskedWeight {
  const ir::Parameter* weight;
  const ir::Parameter* mask;
  const ir::Parameter* score;  // null without movement
};
// In the order of the parameters. Error(usage), beginning with `what`, if there are none.
std::vector<MaskedWeight> masked_weights(const char* what, const ir::Program& program);

}  // namespace trireme::compression
