#pragma once

#include "arguments.h"
#include "trireme/session.h"

namespace trireme::python {

// Arrays by the names of inputs. Errors: usage.
Feeds feeds_of(const nb::dict& arrays);

SessionOptions session_options(const Call& call);

}  // namespace trireme::python
