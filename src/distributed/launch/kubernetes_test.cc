#include "distributed/launch/kubernetes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/testing/error.h"
#include "distributed/launch/testing/yaml.h"
#include "distributed/placement/testing/folder.h"

namespace trireme::distributed {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::InFolder;
using ::testing::Not;

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
  launch.min_trainers = 1;
  EXPECT_THAT(refused({}), HasSubstr("--trainers MIN:MAX is for launchers"));
}

// A program of a user, which exists in the image only.
LaunchOptions own_program() {
  LaunchOptions launch;
  launch.job = "/opt/mine/clicks";
  launch.own_program = true;
  launch.id = "7";
  launch.trainers = 3;
  launch.servers = 2;
  launch.threads = 4;
  return launch;
}

// By "StatefulSet servers" and so on.
std::map<std::string, Json> parts_of(const LaunchOptions& launch, const std::string& name) {
  std::map<std::string, Json> parts;
  const std::string text =
      kubernetes_manifests(launch, {.image = "r.example/mine:1", .metrics_port = 9999});
  for (const YAML::Node& node : YAML::LoadAll(text)) {
    const Json part = testing::json_of(node);
    const std::string kind = part.at("kind"), whole = part.at("metadata").at("name");
    parts[kind + " " + whole.substr(name.size() + 1)] = part;
  }
  return parts;
}

const Json& pod_of(const Json& part) { return part.at("spec").at("template").at("spec"); }
const Json& container_of(const Json& part) { return pod_of(part).at("containers").at(0); }
using Words = std::vector<std::string>;
Words command_of(const Json& part) { return container_of(part).at("command").get<Words>(); }

TEST(KubernetesProgram, TrainersRunItAndTheOthersAreOurs) {
  LaunchOptions launch = own_program();
  launch.arguments = {"--rows", "5000"};
  const auto parts = parts_of(launch, "clicks");
  const Words all = {"--program",
                     "--name",
                     "$(POD_NAME)",
                     "--fresh-name",
                     "--job-name",
                     "clicks",
                     "--etcd",
                     "clicks-etcd:2379",
                     "--etcd-credentials",
                     "/credentials",
                     "--credentials",
                     "/credentials",
                     "--prefix",
                     "trireme/clicks/7/",
                     "--bind",
                     "$(POD_IP)",
                     "--metrics-port",
                     "9999",
                     "--trainers",
                     "3",
                     "--servers",
                     "2",
                     "--threads",
                     "4"};
  const auto expected = [&](const std::string& role, const Words& behind) {
    Words words = {"trireme", "role", role, "/opt/mine/clicks"};
    words.insert(words.end(), all.begin(), all.end());
    if (role == "server")
      words.insert(std::find(words.begin(), words.end(), "--job-name"), "--own-place");
    words.insert(words.end(), behind.begin(), behind.end());
    return words;
  };
  EXPECT_EQ(command_of(parts.at("Job trainers")),
            expected("trainer", {"--until-done", "--", "--rows", "5000"}));
  EXPECT_EQ(command_of(parts.at("Job master")), expected("master", {"--until-done"}));
  EXPECT_EQ(command_of(parts.at("StatefulSet servers")), expected("server", {}));
  for (const char* part : {"Job trainers", "Job master", "StatefulSet servers"}) {
    EXPECT_EQ(container_of(parts.at(part)).at("image"), "r.example/mine:1");
    EXPECT_EQ(container_of(parts.at(part)).at("workingDir"), "/work");
    // They wait ten minutes for the first message of the program.
    const Json& startup = container_of(parts.at(part)).at("startupProbe");
    EXPECT_GT(startup.at("periodSeconds").get<int>() * startup.at("failureThreshold").get<int>(),
              600);
  }
}

// The Job must not restart what was stopped, nor what is wrong.
TEST(KubernetesProgram, JobsAreOfThatManyAndEndWithTheirReasons) {
  LaunchOptions launch = own_program();
  launch.restarts = 3;
  for (const int masters : {0, 3}) {
    launch.masters = masters;
    const auto parts = parts_of(launch, "clicks");
    const Json& spec = parts.at("Job master").at("spec");
    EXPECT_EQ(spec.at("completions"), masters == 0 ? 2 : 3);
    EXPECT_EQ(spec.at("parallelism"), spec.at("completions"));
    EXPECT_EQ(spec.at("backoffLimit"), 3);
    EXPECT_EQ(spec.at("podFailurePolicy").at("rules").at(0).at("onExitCodes").at("values"),
              (std::vector<int>{2, 3, 7}));
    EXPECT_EQ(pod_of(parts.at("Job master"))
                  .at("topologySpreadConstraints")
                  .at(0)
                  .at("labelSelector")
                  .at("matchLabels")
                  .at("app.kubernetes.io/component"),
              "master");
    EXPECT_EQ(parts.at("Job trainers").at("spec").at("completions"), 3);
  }
}

TEST(KubernetesProgram, HasNoJobFile) {
  const auto parts = parts_of(own_program(), "clicks");
  EXPECT_FALSE(parts.contains("ConfigMap job"));
  const Json trainers = parts.at("Job trainers");
  for (const Json& volume : pod_of(trainers).at("volumes")) EXPECT_NE(volume.at("name"), "job");
  for (const Json& mount : container_of(trainers).at("volumeMounts")) {
    EXPECT_NE(mount.at("name"), "job");
  }
}

// Kubernetes replaces $(NAMES) in commands, and reads $$ as $.
TEST(KubernetesProgram, IsCalledWithWhatTheUserSays) {
  LaunchOptions launch = own_program();
  launch.job = "/opt/$5/clicks";
  launch.arguments = {"$(POD_NAME)", "$$", "", "a b", "--name", "--", "true", "1.5", "{}", "[a,b]"};
  const Words words = command_of(parts_of(launch, "clicks").at("Job trainers"));
  EXPECT_EQ(words.at(3), "/opt/$$5/clicks");
  const auto separator = std::find(words.begin(), words.end(), "--");
  ASSERT_NE(separator, words.end());
  EXPECT_EQ(Words(separator + 1, words.end()), (Words{"$$(POD_NAME)", "$$$$", "", "a b", "--name",
                                                      "--", "true", "1.5", "{}", "[a,b]"}));
}

TEST(KubernetesProgram, SettingsAreOfJobFiles) {
  LaunchOptions launch = own_program();
  check_launch(launch);  // nothing need be at that path here
  launch.set = {"train.epochs=2"};
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { check_launch(launch); }),
              HasSubstr("arguments of a program follow --"));
  launch = own_program();
  launch.trainers = 0;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { check_launch(launch); }),
              HasSubstr("trainers must be 1 to 4096"));
}

}  // namespace
}  // namespace trireme::distributed
