#include "ir/signature_json.h"

#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

namespace trireme::ir {
namespace {

using Json = nlohmann::ordered_json;

Json value_of(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> Json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, DType>) return std::string(name_of(value));
        else if constexpr (std::is_same_v<T, Shape>) return str(value);
        else return value;
      },
      attribute);
}

}  // namespace

std::string signature_json(const OpDef& def) {
  Json attributes = Json::array();
  for (const AttributeSpec& spec : def.attributes) {
    Json attribute = {{"name", spec.name}, {"kind", kind_name(spec.kind)}};
    if (spec.required) attribute["required"] = true;
    else attribute["default"] = value_of(spec.default_value);
    attributes.push_back(std::move(attribute));
  }
  const Json json = {{"name", def.name},
                     {"operands", def.operands},
                     {"variadic", def.variadic},
                     {"results", def.results},
                     {"variadic_results", def.variadic_results},
                     {"attributes", attributes}};
  return json.dump();
}

}  // namespace trireme::ir
