#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "trireme/dtype.h"
#include "trireme/shape.h"

namespace trireme {

// What an op or an initializer carries besides values.
using Attribute = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, DType, Shape>;
struct NamedAttribute {
  std::string name;
  Attribute value;
};
using Attributes = std::vector<NamedAttribute>;  // kept sorted by name inside the Program

}  // namespace trireme
