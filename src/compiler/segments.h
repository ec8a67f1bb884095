#pragma once

#include <cstddef>
#include <vector>

#include "compiler/groups.h"

namespace trireme::compiler {

// Neighbouring dimensions of a domain that no op of the group distinguishes. One loop runs over all
// of them. `extent` is the product of their sizes.
struct Segment {
  std::size_t first, last;
  Dim extent;
  bool reduced;
};

std::vector<Segment> make_segments(const Group& group);

}  // namespace trireme::compiler
