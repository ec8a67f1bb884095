#pragma once

#include <stdexcept>
#include <string>

#include "trireme/export.h"

namespace trireme {

// What went wrong, so that callers can choose what to do and the command line its exit code.
enum class ErrorKind {
  usage,      // the caller's mistake: a wrong shape, type, option or order of calls
  data,       // a file or a feed whose content is wrong: truncated, corrupted, out of range
  not_found,  // a file, data set, layer or parameter that is not there
  io,         // the system refused: permissions, full disk, out of memory
  numeric,    // NaN or infinity where the user asked us to stop on it
  internal,   // a mistake of ours; please report it
};

// The one exception type of the library. what() is a complete text for people: what happened,
// where (layer, file and line of the user's code, shapes) and what to try.
class TRIREME_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace trireme
