#pragma once

#include "trireme/source_location.h"

namespace trireme::python {

// The line of the user's Python code that is running: the innermost frame whose file is not part of
// the package. The name of its file exists until the process ends.
SourceLocation caller();

}  // namespace trireme::python
