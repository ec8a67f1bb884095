#pragma once

#include <string>
#include <vector>

#include "trireme/error.h"

namespace trireme {

[[noreturn]] void fail(ErrorKind kind, const std::string& message);
[[noreturn]] inline void fail_usage(const std::string& message) { fail(ErrorKind::usage, message); }
[[noreturn]] inline void fail_data(const std::string& message) { fail(ErrorKind::data, message); }
[[noreturn]] inline void fail_io(const std::string& message) { fail(ErrorKind::io, message); }
[[noreturn]] inline void fail_internal(const std::string& message) {
  fail(ErrorKind::internal, message);
}

// Returns the candidate nearest to `word` by edit distance, or "" if none is near. For "did you
// mean".
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace trireme
