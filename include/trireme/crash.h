#pragma once

#include "trireme/export.h"

namespace trireme {

// From now on a fatal signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) prints a line and the
// addresses of the calls that led to it to standard error, and then ends the process as before. For
// main(). Does nothing in builds with sanitizers, which print more.
// `program` must live as long as the process.
TRIREME_API void report_crashes(const char* program);

}  // namespace trireme
