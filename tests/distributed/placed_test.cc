// Jobs of several launchers: placed by hand, by mpirun and torchrun; with certificates and with a
// real etcd.

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <future>

#include "distributed/coordination/etcd_store.h"
#include "distributed/coordination/testing/etcd_process.h"
#include "launch.h"

namespace trireme::testing {
namespace {

using distributed::connect_etcd;
using distributed::testing::EtcdProcess;
using distributed::testing::free_port;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kServers = "mode = \"asynchronous\"\ntask_batches = 8\n";

// The name of an interface other than loopback; empty if there is none.
std::string other_interface() {
  ifaddrs* list = nullptr;
  std::string name;
  if (::getifaddrs(&list) != 0) return name;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET &&
        std::string(each->ifa_name) != "lo") {
      name = each->ifa_name;
    }
  }
  ::freeifaddrs(list);
  return name;
}

bool has_program(const std::string& name) { return run("command -v " + name).code == 0; }

class Placed : public Launch {
 protected:
  // Launcher `rank` of two, as a user starts it on a terminal.
  std::future<Outcome> by_hand(int rank, const std::string& arguments) const {
    const std::string command =
        "env RANK=" + std::to_string(rank) +
        " WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port_) + " " + kLaunch +
        arguments;
    return std::async(std::launch::async, [this, command] { return run_here(command); });
  }
  // Waits for the launcher of a rank: the parent of one of its processes.
  pid_t launcher_of(const std::string& child) const {
    const pid_t process_id = process(child);
    std::istringstream status(read("/proc/" + std::to_string(process_id) + "/status"));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
    }
    ADD_FAILURE() << child << " has no parent";
    return 0;
  }

  const int port_ = free_port();
};

void wait(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST_F(Placed, ByHandWithCertificates) {
  const std::string arguments =
      "--credentials keys --trainers 2 --servers 2 " + job(kAdagrad, kServers, 16000);
  auto second = by_hand(1, arguments);
  wait(300);
  const Outcome first = by_hand(0, arguments).get(), other = second.get();
  EXPECT_EQ(first.code, 0) << first.output;
  EXPECT_EQ(other.code, 0) << other.output;
  EXPECT_GT(number_behind(first.output + other.output, "test auc: "), 0.7);
  EXPECT_THAT(first.output, HasSubstr(" 16000 examples")) << "of both launchers";
  EXPECT_TRUE(std::filesystem::exists(path("keys/tls.key")));
  EXPECT_TRUE(processes_with({path("job.toml")}).empty()) << "all have ended";
}

TEST_F(Placed, ALauncherThatDiesIsDoneWithout) {
  const std::string arguments =
      "--trainers 4 " + job(kAdagrad, "task_batches = 4\n", 60000, 3) + " -o model";
  auto first = by_hand(0, arguments), second = by_hand(1, arguments);
  process("trainer_3");
  const pid_t victim = launcher_of("trainer_1");
  wait(1500);
  ASSERT_GT(victim, 1);
  ::kill(victim, SIGKILL);
  const Outcome outcome = first.get();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("is gone; the job continues without it"));
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
  EXPECT_TRUE(std::filesystem::exists(path("model/model.json")));
  EXPECT_NE(second.get().code, 0);
  EXPECT_TRUE(processes_with({path("job.toml")}).empty()) << "its processes ended with it";
}

// With its launcher: launcher 0 starts another server, which loads the saved data of the lost one.
TEST_F(Placed, ServersOfALauncherThatDiesAreStartedByTheFirst) {
  const std::string arguments =
      "--trainers 2 --servers 2 " +
      job(kAdagrad, "mode = \"asynchronous\"\ntask_batches = 4\ncheckpoint_seconds = 0.5\n", 16000,
          3) +
      " -o model";
  auto first = by_hand(0, arguments), second = by_hand(1, arguments);
  const pid_t victim = launcher_of("server_1");
  for (int i = 0; i < 800 && !std::filesystem::exists(path("model-checkpoints/000000000002"));
       ++i) {
    wait(25);
  }
  ASSERT_GT(victim, 1);
  ::kill(victim, SIGKILL);
  const Outcome outcome = first.get();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("is gone; the job continues without it"));
  EXPECT_THAT(outcome.output, HasSubstr("its 1 parameter servers are started here"));
  EXPECT_THAT(outcome.output, HasSubstr("2 servers went back to epoch "));
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
  EXPECT_NE(second.get().code, 0);
}

// Also reported and stopped without its record, as on another machine.
TEST_F(Placed, AMasterStandsByAtAnotherLauncher) {
  const std::string arguments =
      "--credentials keys --trainers 2 " + job(kAdagrad, "task_batches = 4\n", 1000000);
  auto first = by_hand(0, arguments), second = by_hand(1, arguments);
  const std::string elsewhere = " --credentials keys --store 127.0.0.1:" + std::to_string(port_);
  const auto by_store = [&](const std::string& words) {
    return run_here("env TRIREME_JOBS=" + path("none") + " " + TRIREME_CLI + " job " + words +
                    elsewhere);
  };
  process("master_0");
  const pid_t victim = launcher_of("master_1");
  std::string said;
  // Until it prints one of these.
  const auto told = [&](const std::vector<std::string>& texts) {
    const auto says = [&](const std::string& text) { return said.find(text) != std::string::npos; };
    for (int i = 0; i < 600 && std::none_of(texts.begin(), texts.end(), says); ++i) {
      wait(50);
      said = by_store("status").output;
    }
    return said;
  };
  const std::vector<std::string> both = {"master_0 leads, master_1 stands by",
                                         "master_1 leads, master_0 stands by"};
  EXPECT_THAT(told(both), HasSubstr("its keys below job/ of 127.0.0.1"));
  EXPECT_THAT(said, ::testing::AnyOf(HasSubstr(both[0]), HasSubstr(both[1])));
  EXPECT_THAT(told({"trainer_1 "}), HasSubstr("launcher    process "));
  ASSERT_GT(victim, 1);
  ::kill(victim, SIGKILL);
  EXPECT_THAT(told({"master_2 stands by"}), HasSubstr("master_0 leads, master_2 stands by"));
  // By its record from any folder, although the path of certificates was relative.
  EXPECT_THAT(run("cd / && " + std::string(TRIREME_CLI) + " job status").output,
              HasSubstr("master      master_0 leads"));
  const Outcome scaled = by_store("scale --trainers 1");
  EXPECT_EQ(scaled.output, "1 trainers and 0 servers are wanted, instead of 2 and 0\n");
  const Outcome stopped = by_store("stop --now");
  EXPECT_EQ(stopped.code, 0) << stopped.output;
  EXPECT_THAT(stopped.output, HasSubstr("stopped after "));
  EXPECT_EQ(first.get().code, 6);
  EXPECT_NE(second.get().code, 0);
}

TEST_F(Placed, AJobIsWatchedAndSteeredByItsEtcd) {
  EtcdProcess etcd;
  auto running = std::async(std::launch::async, [&] {
    return run_here(kLaunch + "--trainers 1 --name clicks --id a/7 --etcd " + etcd.address() + " " +
                    job(kAdagrad, "task_batches = 4\n", 1000000));
  });
  process("trainer_0");
  const auto by_etcd = [&](const std::string& words) {
    return run_here("env TRIREME_JOBS=" + path("none") + " " + TRIREME_CLI + " job " + words +
                    " --etcd " + etcd.address());
  };
  std::string said;
  const auto runs = [&] {
    return said.find("1 of 1") != std::string::npos &&
           said.find("none has begun") == std::string::npos;  // of the epochs
  };
  for (int i = 0; i < 600 && !runs(); ++i) {
    wait(50);
    said = by_etcd("status clicks --id a-7").output;
  }
  EXPECT_THAT(said, HasSubstr("its keys below trireme/clicks/a-7/ of " + etcd.address()));
  EXPECT_THAT(by_etcd("list").output, HasSubstr("clicks              a-7           runs "));
  EXPECT_EQ(by_etcd("status words").code, 4);
  EXPECT_EQ(by_etcd("scale clicks --trainers 2").code, 0);
  process("trainer_1");
  const Outcome stopped = by_etcd("stop --prefix trireme/clicks/a-7/ --now");
  EXPECT_EQ(stopped.code, 0) << stopped.output;
  EXPECT_THAT(stopped.output, HasSubstr("3 processes ended"));
  EXPECT_EQ(running.get().code, 6);
  EXPECT_EQ(by_etcd("list").output, "no job has keys there\n");
}

// An error that one launcher cannot fix ends the job for all.
TEST_F(Placed, AProcessThatEndsBadlyTooOftenEndsTheJobEverywhere) {
  const std::string arguments = "--trainers 2 " + job(kAdagrad, "", 60000, 50);
  auto first = by_hand(0, arguments), second = by_hand(1, arguments);
  process("trainer_0");
  for (int i = 0; i < 11; ++i) {
    // Names of launcher 1 are odd.
    const pid_t victim = process("trainer_" + std::to_string(2 * i + 1));
    ASSERT_GT(victim, 0);
    ::kill(victim, SIGKILL);
  }
  const Outcome told = second.get(), outcome = first.get();
  EXPECT_EQ(told.code, 4) << told.output;
  EXPECT_THAT(told.output, HasSubstr("trainer_21 was ended by signal 9; that is once too often"));
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("launcher 1 on "));
  EXPECT_THAT(outcome.output, HasSubstr("once too often"));
  EXPECT_TRUE(processes_with({path("job.toml")}).empty());
}

TEST_F(Placed, StoppingTheFirstStopsAll) {
  const std::string arguments = "--trainers 2 " + job(kAdagrad, "", 60000, 50);
  auto first = by_hand(0, arguments), second = by_hand(1, arguments);
  process("trainer_1");
  const pid_t launcher = launcher_of("trainer_0");
  wait(500);
  ASSERT_GT(launcher, 1);
  ::kill(launcher, SIGTERM);
  const Outcome outcome = first.get(), other = second.get();
  EXPECT_EQ(outcome.code, 128 + SIGTERM) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("the job was stopped"));
  EXPECT_EQ(other.code, 6) << other.output;
  EXPECT_THAT(other.output, HasSubstr("the job was stopped"));
  EXPECT_TRUE(processes_with({path("job.toml")}).empty());
}

TEST_F(Placed, AnotherAuthorityIsNoLauncherOfThisJob) {
  const std::string file = job(kAdagrad, "", 1000);
  EXPECT_EQ(run_here(std::string(TRIREME_CLI) + " credentials ours").code, 0);
  EXPECT_EQ(run_here(std::string(TRIREME_CLI) + " credentials theirs").code, 0);
  auto first = by_hand(0, "--wait 6 --credentials ours --trainers 2 " + file);
  auto second = by_hand(1, "--wait 6 --credentials theirs --trainers 2 " + file);
  const Outcome outcome = first.get(), other = second.get();
  EXPECT_EQ(other.code, 4) << other.output;
  EXPECT_THAT(other.output, HasSubstr("launcher 0 of 2 did not start within 6 s"));
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("1 of 2 launchers have come within 6 s"));
}

TEST_F(Placed, OnAnInterfaceThatOthersReach) {
  const std::string interface = other_interface();
  if (interface.empty()) GTEST_SKIP() << "this machine has loopback alone";
  const std::string file = job(kAdagrad, kServers, 8000);
  const Outcome outcome =
      run_here(kLaunch + "--interface " + interface + " --trainers 1 --servers 1 " + file);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.6);
  const Outcome refused =
      run_here("env RANK=0 WORLD_SIZE=2 MASTER_ADDR=n1 " + kLaunch + "--interface " + interface +
               " --trainers 2 --servers 1 " + file);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output, HasSubstr("so processes need certificates"));
}

TEST_F(Placed, KeysInARealEtcd) {
  EtcdProcess etcd;
  const auto store = connect_etcd({.address = etcd.address()});
  const std::string file = job(kAdagrad, kServers, 40000);
  auto running = std::async(std::launch::async, [&] {
    return run_here(kLaunch + "--trainers 2 --servers 2 --name clicks --etcd " + etcd.address() +
                    " " + file);
  });
  process("trainer_1");
  const pid_t trainer = process("trainer_0");
  EXPECT_FALSE(store->list("trireme/clicks/").entries.empty());
  // The token is not visible in the arguments.
  const std::string environment = read("/proc/" + std::to_string(trainer) + "/environ");
  const std::size_t at = environment.find("TRIREME_JOB_TOKEN=");
  ASSERT_NE(at, std::string::npos);
  const std::string token = environment.substr(at + 18, 64);
  EXPECT_THAT(read("/proc/" + std::to_string(trainer) + "/cmdline"), Not(HasSubstr(token)));
  const Outcome outcome = running.get();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr(" 40000 examples"));
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
  EXPECT_TRUE(store->list("trireme/").entries.empty()) << "nothing stays behind";
}

TEST_F(Placed, TwoLaunchersAndARealEtcdThatIsKilled) {
  EtcdProcess etcd;
  const std::string arguments = "--id 7 --trainers 2 --etcd " + etcd.address() + " " +
                                job(kAdagrad, "task_batches = 4\n", 60000, 2) + " -o model";
  auto first = by_hand(0, arguments), second = by_hand(1, arguments);
  process("trainer_1");
  wait(1500);
  etcd.restart();
  const Outcome outcome = first.get(), other = second.get();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(other.code, 0) << other.output;
  EXPECT_TRUE(std::filesystem::exists(path("model/model.json")));
}

// `mpirun` of one kind or the other.
class Mpirun : public Placed, public ::testing::WithParamInterface<const char*> {};

TEST_P(Mpirun, TwoLaunchers) {
  const std::string program = GetParam();
  ASSERT_TRUE(has_program(program)) << "tools/install-deps.sh --test installs " << program;
  const std::string more =
      program == "mpirun.openmpi" ? " --allow-run-as-root --oversubscribe" : "";
  const Outcome outcome = run_here(program + more + " -np 2 " + kLaunch + "--trainers 2 " +
                                   job(kAdagrad, "", 16000) + " -o model");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr(" 16000 examples"));
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
  EXPECT_TRUE(std::filesystem::exists(path("model/model.json")));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Mpirun, ::testing::Values("mpirun.openmpi", "mpirun.mpich"),
                         [](const auto& kind) { return std::string(kind.param).substr(7); });

TEST_F(Placed, Torchrun) {
  const std::string torchrun = "/usr/bin/python3 -m torch.distributed.run ";
  ASSERT_EQ(run(torchrun + "--help").code, 0)
      << "tools/install-deps.sh --test installs python3-torch";
  const Outcome outcome =
      // Output into files: otherwise torchrun of Debian fails because of a change of enumerations
      // in Python.
      run_here(torchrun + "--redirects 1 --tee 2 --log_dir logs --no_python --nproc_per_node 2 " +
               "--master_port " + std::to_string(port_) + " " + kLaunch + "--trainers 2 " +
               job(kAdagrad, "", 16000) + "; cat logs/*/*/*/*.log");
  EXPECT_THAT(outcome.output, HasSubstr(" 16000 examples"));
  EXPECT_GT(number_behind(outcome.output, "test auc: "), 0.7);
}

TEST_F(Placed, MistakesOfTheEnvironment) {
  const std::string file = job(kAdagrad, "", 1000);
  Outcome outcome = run_here("env RANK=1 " + kLaunch + file);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("RANK is set and WORLD_SIZE is not"));
  outcome = run_here("env RANK=1 WORLD_SIZE=2 MASTER_ADDR=10.1.2.3 " + kLaunch + file);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("--interface NAME for the network that joins them"));
  outcome = run_here(kLaunch + "--etcd 10.1.2.3:2379 " + file);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("both sides need certificates"));
}

TEST_F(Placed, CredentialsByTheCommandLine) {
  const std::string make = std::string(TRIREME_CLI) + " credentials keys --days ";
  Outcome outcome = run_here(make + "3");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("keys: ca.crt, tls.crt and tls.key, valid until 20"));
  outcome = run_here(make + "3");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("already contains certificates"));
  EXPECT_EQ(run_here(make + "0").code, 2);
}

}  // namespace
}  // namespace trireme::testing
