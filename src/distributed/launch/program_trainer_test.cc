#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "base/testing/error.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/launch/program_work.h"
#include "distributed/launch/role.h"
#include "distributed/placement/testing/folder.h"

namespace trireme::distributed {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Programs are scripts here.
class ProgramTrainer : public testing::InFolder {
 protected:
  ProgramTrainer() {
    ::setenv("TRIREME_JOB_TOKEN", "secret", 1);
    role_.program = true;
    role_.name = "trainer_2";
    role_.prefix = "trireme/mine/1/";
    role_.host = "127.0.0.5";
    role_.metrics_port = 9464;
    role_.trainers = 3;
    role_.servers = 2;
    role_.threads = 4;
    access_.store = "127.0.0.1:" + std::to_string(server_.port());
    secure(role_, access_);
  }
  ~ProgramTrainer() override { ::unsetenv("TRIREME_JOB_TOKEN"); }

  std::string script(const std::string& text) const {
    const std::string file = path("script");
    std::ofstream(file) << "#!/bin/sh\ncd " << path("") << "\n" << text;
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
  int run(const std::string& text, const std::vector<std::string>& arguments = {}) {
    role_.job = script(text);
    return run_program(role_, access_, arguments);
  }
  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }
  void begin() { announce_work(*store_, role_.prefix, {.batches = 1}); }

  const std::unique_ptr<Store> store_ = make_memory_store();
  EtcdServer server_{*store_, {.security = {.token = "secret"}}};
  RoleOptions role_;
  RoleAccess access_;
};

TEST_F(ProgramTrainer, IsToldItsRoleByItsEnvironment) {
  EXPECT_EQ(run("env > told\nfor word in \"$@\"; do echo \"($word)\" >> words; done\n",
                {"--rows", "5000", "", "a b", "$HOME"}),
            0);
  EXPECT_THAT(
      read("told"),
      AllOf(HasSubstr("TRIREME_JOB_STORE=" + access_.store + "\n"),
            HasSubstr("TRIREME_JOB_PROCESS=trainer_2\n"),
            HasSubstr("TRIREME_JOB_PREFIX=trireme/mine/1/\n"),
            HasSubstr("TRIREME_JOB_HOST=127.0.0.5\n"), HasSubstr("TRIREME_JOB_METRICS_PORT=9464\n"),
            HasSubstr("TRIREME_JOB_TRAINERS=3\n"), HasSubstr("TRIREME_JOB_SERVERS=2\n"),
            HasSubstr("TRIREME_NUM_THREADS=4\n")));
  EXPECT_EQ(read("words"), "(--rows)\n(5000)\n()\n(a b)\n($HOME)\n");
}

TEST_F(ProgramTrainer, TellsWhatItTells) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run("echo one\necho two >&2\nprintf three\n"), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "one\ntwo\nthree\n");
}

// Another trainer may succeed, unless none can.
TEST_F(ProgramTrainer, FailsAsTheProgramFails) {
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { run("exit 1\n"); }),
              HasSubstr("ended with code 1 before it trained"));
  EXPECT_EQ(run("kill -9 $$\n"), 128 + 9);
  begin();
  EXPECT_EQ(run("exit 1\n"), 1);
  EXPECT_EQ(run("kill -6 $$\n"), 128 + 6);
}

TEST_F(ProgramTrainer, IsFoundAsByAShell) {
  role_.job = path("nothing");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { run_program(role_, access_, {}); }),
              HasSubstr("there is no program " + path("nothing")));
  role_.job = path("");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { run_program(role_, access_, {}); }),
              HasSubstr("there is no program"));
  role_.job = "no-such-trireme-program";
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { run_program(role_, access_, {}); }),
              HasSubstr("seen from " + std::filesystem::current_path().string()));
  role_.job = "true";
  EXPECT_EQ(run_program(role_, access_, {}), 0);
}

// It ends on its own, and its exit code is kept, also before any trainer has trained.
TEST_F(ProgramTrainer, IsAskedToLeave) {
  std::atomic<bool> stop = false;
  role_.stop = [&] { return stop.load() || std::filesystem::exists(path("ready")); };
  EXPECT_EQ(run("trap 'echo left > left; exit 0' TERM\ntouch ready\n"
                "while true; do sleep 0.02; done\n"),
            0);
  EXPECT_EQ(read("left"), "left\n");
  stop = true;
  EXPECT_NE(run("trap 'exit 1' TERM\nwhile true; do sleep 0.02; done\n"), 0);
}

}  // namespace
}  // namespace trireme::distributed
