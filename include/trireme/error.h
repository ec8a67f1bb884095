#pragma once

#include <stdexcept>
#include <string>

#include "trireme/export.h"

namespace trireme {

// The kind of an error. Callers use it to decide what to do; the command line maps it to an exit
// code.
enum class ErrorKind {
  usage,      // an error of the caller: wrong shape, type, option or order of calls
  data,       // wrong content of a file or a feed: truncated, corrupted, out of range
  not_found,  // a file, data set, layer or parameter does not exist
  io,         // the operating system failed: permissions, full disk, out of memory
  numeric,    // NaN or infinity where the user asked to stop
  internal,   // a bug in Trireme; please report it
};

// The only exception type of the library. what() is a complete message: what happened, where
// (layer, file and line of the user's code, shapes) and what to try.
class TRIREME_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace trireme
