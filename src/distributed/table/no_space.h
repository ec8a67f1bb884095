#pragma once

// The error of a full disk.

#include <string>

#include "trireme/error.h"

namespace trireme::distributed {

// The caller may repeat the call, which succeeds when there is space: see SparseTable.
class NoSpace : public Error {
 public:
  explicit NoSpace(const std::string& message) : Error(ErrorKind::io, message) {}
};

}  // namespace trireme::distributed
