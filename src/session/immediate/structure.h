#pragma once

// What two recordings have in common if one compilation serves both.

#include <cstddef>
#include <string>
#include <vector>

#include "ir/program.h"

namespace trireme::immediate {

struct Structure {
  // The ops that `fetches` need, in order, with attributes and types, as bytes. Numbers of scalar
  // constants are left out.
  std::string key;
  std::vector<const ir::Value*> inputs;  // arguments of the main block, in the order of their use
  std::vector<const ir::Op*> numbers;    // the constants whose numbers were left out
};

// `fetches` are values of the main block. `memory` is used for the key.
Structure structure_of(const ir::Program& program, const std::vector<const ir::Value*>& fetches,
                       std::string memory = {});

// The number of a constant.
double number_of(const ir::Op& constant);

// The length of the shortest group of ops that the end of the main block repeats at least twice, at
// most `longest`; 0 if there is none.
std::size_t period_of(const ir::Program& program, std::size_t longest);

}  // namespace trireme::immediate
