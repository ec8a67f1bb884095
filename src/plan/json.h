#pragma once

// A Plan as JSON, for models compiled ahead of time: docs/reference/formats/compiled.md.

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "plan/plan.h"

namespace trireme::plan {

using Json = nlohmann::ordered_json;

// The kernels by symbol: code and the text of the kernel IR are not in it.
Json to_json(const Plan& plan);

// What to_json() wrote; the kernels have no `run` yet. Checked by verify() and beyond, so that a
// run of the Plan touches only memory that it may. Errors: data, saying what is wrong.
Plan plan_from_json(const Json& json);

Json to_json(const Shape& shape);

// Readers of one value that must be there and of that kind. Errors: data.
const Json& member(const Json& object, const char* key);
const Json& list(const Json& object, const char* key);
std::string text(const Json& object, const char* key);
std::int64_t integer(const Json& value, const char* what,
                     std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                     std::int64_t high = std::numeric_limits<std::int64_t>::max());
Shape shape(const Json& object, const char* key);
DType dtype(const Json& object, const char* key);

}  // namespace trireme::plan
