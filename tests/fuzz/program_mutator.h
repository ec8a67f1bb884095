#pragma once

// Mutations of program text that keep it well-formed: the type rules of the ops decide what is
// possible, and what they refuse stays as it was.

#include <cstdint>
#include <string>
#include <string_view>

namespace trireme {

// Returns a changed copy of the Program, the same for the same seed: other attributes, operands,
// sizes and outputs, ops dropped, and ops of the catalog added. Text that does not parse comes back
// with some of its words and numbers changed.
std::string mutated_program(std::string_view text, std::uint64_t seed);

}  // namespace trireme
