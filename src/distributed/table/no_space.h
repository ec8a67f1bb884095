#pragma once

// A disk is full.

#include <string>

#include "trireme/error.h"

namespace trireme::distributed {

// What was asked for may be asked for again, and is done when there is room: see SparseTable.
class NoSpace : public Error {
 public:
  explicit NoSpace(const std::string& message) : Error(ErrorKind::io, message) {}
};

}  // namespace trireme::distributed
