#pragma once

// A Plan as JSON, for models compiled ahead of time: docs/reference/formats/compiled.md.

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "plan/plan.h"

namespace trireme::plan {

using Json = nlohmann::ordered_json;

// Names the kernels by symbol: the JSON contains neither code nor kernel IR.
Json to_json(const Plan& plan);

// Reads the output of to_json(); the kernels have no `run` yet. Checks the Plan with verify() and
// further, so that a run of it accesses only its own memory. Errors: data, with what is wrong.
Plan plan_from_json(const Json& json);

Json to_json(const Shape& shape);

// Return a value that must exist and be of that kind. Errors: data.
const Json& member(const Json& object, const char* key);
const Json& list(const Json& object, const char* key);
std::string text(const Json& object, const char* key);
std::int64_t integer(const Json& value, const char* what,
                     std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                     std::int64_t high = std::numeric_limits<std::int64_t>::max());
Shape shape(const Json& object, const char* key);
DType dtype(const Json& object, const char* key);

}  // namespace trireme::plan
