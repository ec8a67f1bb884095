#include "ir/signature_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace trireme::ir {
namespace {

using Json = nlohmann::json;

Json described(const char* signature) {
  OpDef def;
  def.signature = signature;
  parse_signature(def);
  return Json::parse(signature_json(def));
}

TEST(SignatureJson, HasOperandsAndResults) {
  const Json json = described("top(x, ys...; k: int) -> y, position");
  EXPECT_EQ(json["name"], "top");
  EXPECT_EQ(json["operands"], Json({"x", "ys"}));
  EXPECT_EQ(json["variadic"], true);
  EXPECT_EQ(json["results"], Json({"y", "position"}));
  EXPECT_EQ(json["variadic_results"], false);
  EXPECT_EQ(json["attributes"], Json::parse(R"([{"name": "k", "kind": "int", "required": true}])"));
}

TEST(SignatureJson, OfAnOpWithoutOperandsAndResults) {
  EXPECT_EQ(described("mark() -> ()"), Json::parse(R"({"name": "mark", "operands": [],
    "variadic": false, "results": [], "variadic_results": false, "attributes": []})"));
  EXPECT_EQ(described("loop(xs...) -> ys...")["variadic_results"], true);
}

TEST(SignatureJson, HasDefaultsOfAllKinds) {
  const Json json = described(
      "f(x; a: bool = true, b: int = -3, c: float = 1e-5, d: string = \"no, [one\", "
      "e: ints = [1, 2], f: floats = [], g: dtype = f32, h: shape = [2, n])");
  const Json expected = Json::parse(R"([
    {"name": "a", "kind": "bool", "default": true},
    {"name": "b", "kind": "int", "default": -3},
    {"name": "c", "kind": "float", "default": 1e-5},
    {"name": "d", "kind": "string", "default": "no, [one"},
    {"name": "e", "kind": "ints", "default": [1, 2]},
    {"name": "f", "kind": "floats", "default": []},
    {"name": "g", "kind": "dtype", "default": "f32"},
    {"name": "h", "kind": "shape", "default": "[2, n]"}])");
  EXPECT_EQ(json["attributes"], expected);
}

}  // namespace
}  // namespace trireme::ir
