#include "distributed/launch/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"
#include "distributed/coordination/testing/cut_store.h"
#include "distributed/launch/role.h"

namespace trireme::distributed {
namespace {

using ::testing::ElementsAre;

class SupervisorOf : public ::testing::Test {
 protected:
  // Every process ends with this code.
  SupervisorOptions options(int code) {
    SupervisorOptions options;
    options.command = [code](const std::string&, const std::string&) {
      return std::vector<std::string>{"/bin/sh", "-c", "exit " + std::to_string(code)};
    };
    options.heard = [this](const std::string& name, const std::string& line) {
      lines_.push_back("[" + name + "] " + line);
    };
    options.restarts = 1;
    return options;
  }
  Supervisor supervisor(int code) { return Supervisor(options(code)); }
  // Until no process remains.
  static bool all_end(Supervisor& supervisor) {
    return wait_until([&] {
      supervisor.poll(Milliseconds(5));
      return supervisor.running("server") == 0;
    });
  }
  std::vector<std::string> lines_;
};

TEST_F(SupervisorOf, WhoWasReplacedByOthersIsNotStartedAgain) {
  Supervisor some = supervisor(kReplacedCode);
  some.start("server");
  some.start("server");
  ASSERT_TRUE(all_end(some));
  EXPECT_EQ(some.restarts(), 0);
  EXPECT_THAT(lines_,
              ::testing::UnorderedElementsAre("[launch] server_0 has left: others have its place",
                                              "[launch] server_1 has left: others have its place"));
}

// A server is stopped for longer than its lease, another one fails, and the replacement of the
// latter gets the place of the former. When that one has left, the place of the failed one is free.
TEST_F(SupervisorOf, WhoWasReplacedIsStartedForAPlaceThatNobodyHas) {
  int free = 2;
  SupervisorOptions options = this->options(kReplacedCode);
  options.missing = [&](const std::string& role) { return role == "server" && free-- > 0; };
  Supervisor some(options);
  some.start("server");
  ASSERT_TRUE(all_end(some));
  EXPECT_EQ(some.restarts(), 0) << "nothing has failed";
  const std::string left = " has left: others have its place",
                    more = "; another one is started for one that is free";
  EXPECT_THAT(lines_, ElementsAre("[launch] server_0" + left + more,
                                  "[launch] server_1" + left + more, "[launch] server_2" + left));
}

TEST_F(SupervisorOf, WhoEndsBadlyIsReplacedAsOftenAsMayBe) {
  Supervisor some = supervisor(4);
  some.start("server");
  EXPECT_THAT(error_of(ErrorKind::io, [&] { all_end(some); }),
              ::testing::HasSubstr("server_1 ended with code 4; that is once too often"));
  EXPECT_THAT(lines_, ElementsAre("[launch] server_0 ended with code 4; another one is started"));
}

}  // namespace
}  // namespace trireme::distributed
