#include "distributed/launch/yaml.h"

#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>

#include "base/error_test.h"
#include "distributed/launch/kubernetes.h"
#include "distributed/placement/folder_test.h"

namespace trireme::distributed {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using testing::InFolder;

// By the rules of YAML's core schema: what is not in quotes may be something else than text. yaml-cpp marks quoted ones by "!".
Json json_of(const YAML::Node& node) {
  if (node.IsMap()) {
    Json map = Json::object();
    for (const auto& entry : node) map[entry.first.as<std::string>()] = json_of(entry.second);
    return map;
  }
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const auto& entry : node) list.push_back(json_of(entry));
    return list;
  }
  if (node.IsNull()) return nullptr;
  const std::string text = node.as<std::string>();
  if (node.Tag() == "!") return text;
  const Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

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

class Kubernetes : public InFolder {};

TEST_F(Kubernetes, NamesAndNumbersThatItDoesNotTake) {
  LaunchOptions launch;
  launch.job = path("job.toml");
  const auto refused = [&](KubernetesOptions options) {
    return error_of(ErrorKind::usage, [&] { kubernetes_manifests(launch, options); });
  };
  for (const char* wrong : {"Job", "1st", "a_b", "a.b", "a-", "-a"}) {
    launch.name = wrong;
    EXPECT_THAT(refused({}), HasSubstr("is no name that Kubernetes takes")) << wrong;
  }
  launch.name = std::string(41, 'a');
  EXPECT_THAT(refused({}), HasSubstr("40 at most"));
  launch.name = "clicks";
  EXPECT_THAT(refused({.metrics_port = 80}), HasSubstr("1024 to 65535"));
  EXPECT_THAT(refused({.image = ""}), HasSubstr("must not be empty"));
  EXPECT_THAT(error_of(ErrorKind::not_found, [&] { kubernetes_manifests(launch, {}); }),
              HasSubstr("job.toml"));
}

}  // namespace
}  // namespace trireme::distributed
