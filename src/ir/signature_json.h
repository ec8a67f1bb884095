#pragma once

// A parsed signature as JSON, for generators and for the catalog that `trireme catalog` prints.

#include <string>

#include "ir/op_def.h"

namespace trireme::ir {

// Returns an object with name, operands, variadic, results, variadic_results and attributes, as in
// OpDef. An attribute has name, kind (as in the signature) and `default`, or `required` = true. A
// default dtype or shape is a string.
std::string signature_json(const OpDef& def);

}  // namespace trireme::ir
