#include "distributed/launch/yaml.h"

#include <gtest/gtest.h>

#include "distributed/launch/testing/yaml.h"

namespace trireme::distributed {
namespace {

using Json = nlohmann::ordered_json;
using testing::json_of;

TEST(Yaml, ComesBackAsItWas) {
  const Json value = {
      {"numbers", {1, -2, 0.5, 0440}},
      {"truth", true},
      {"nothing", nullptr},
      {"empty", {{"map", Json::object()}, {"list", Json::array()}, {"text", ""}}},
      {"texts",
       {"plain",     "true",       "No",          "null",    "~",    "1",        "1.5",
        "0x10",      "1e3",        "2026-11-23",  "-",       "- a",  "a: b",     "a #b",
        "$(POD_IP)", "\"quoted\"", "back\\slash", " space ", "10Gi", "/etc/x.y", "--name=a",
        "*",         "&a",         "!b",          "{",       "["}},
      {"lines", "one\n  two: 2\n\n# three\n"},
      {"a: b", {{{"x", 1}, {"y", {2, 3}}}, {{"x", "4"}}}},
  };
  EXPECT_EQ(json_of(YAML::Load(yaml_of(value))), value) << yaml_of(value);
}

}  // namespace
}  // namespace trireme::distributed
