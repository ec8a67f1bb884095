// Servers whose disk for cold rows is full: requests wait, and nothing is lost when there is space
// again.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <future>

#include "base/testing/error.h"
#include "data/testing/files.h"
#include "distributed/control/server_clients.h"
#include "distributed/server/testing/cluster.h"

namespace trireme::distributed {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kWidth = 1024;  // rows of 4 KB, so that a small disk is soon full

// A small file system that is nearly full while a ballast file exists.
class SmallDisk {
 public:
  SmallDisk() : mounted_(::mount("tmpfs", folder().c_str(), "tmpfs", 0, "size=4m") == 0) {
    if (mounted_) fill();
  }
  ~SmallDisk() {
    if (mounted_) ::umount(folder().c_str());
  }
  bool mounted() const { return mounted_; }
  const std::string& folder() const { return directory_.path(); }
  void fill() {
    const int file = ::open(ballast().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    EXPECT_EQ(::posix_fallocate(file, 0, 7 << 19), 0);
    ::close(file);
  }
  void make_room() { std::filesystem::remove(ballast()); }

 private:
  std::string ballast() const { return folder() + "/ballast"; }
  const data::TestDirectory directory_;
  const bool mounted_;
};

class NoSpaceOn : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "no right to mount a small file system";
    cluster_.emplace(1, ShardOptions{.folder = disk_.folder(), .write_buffer = 128 << 10});
  }
  static TableDeclaration table(bool limited, Mode mode) {
    TableDeclaration declaration{.options = small_options(RowRule::sgd(), kWidth), .mode = mode};
    declaration.spill = limited;
    if (limited) declaration.options.memory_limit = 64 << 10;
    return declaration;
  }
  static SparseTable reference(Mode mode) { return SparseTable(table(false, mode).options); }
  // Of one row each.
  static std::vector<float> ones() { return std::vector<float>(kWidth, 1); }
  void wait_until_full() {
    while (!cluster_->shard(0).disk_full()) std::this_thread::sleep_for(Milliseconds(2));
  }
  std::uint64_t answered(Op op, Code code) {
    for (const RequestCount& count : cluster_->shard(0).requests()) {
      if (count.op == op && count.code == code) return count.requests;
    }
    return 0;
  }

  SmallDisk disk_;
  std::optional<Cluster> cluster_;
};

TEST_F(NoSpaceOn, AServerThatIsPushedToIsWaitedFor) {
  constexpr Id kRows = 300;
  ParameterClient client(cluster_->network(), cluster_->client(1));
  client.declare(0, table(true, Mode::asynchronous));
  auto pushing = std::async(std::launch::async, [&] {
    for (Id id = 0; id < kRows; ++id) {
      client.push(0, std::vector<Id>{id}, ones().data(), {.rate = 1});
    }
  });
  wait_until_full();
  // A client with less patience gets the reason.
  ClientOptions hurried = cluster_->client(2);
  hurried.deadline = Milliseconds(2000);
  ParameterClient other(cluster_->network(), hurried);
  other.declare(0, table(true, Mode::asynchronous));
  const std::vector<Id> many = {500, 501, 502, 503, 504, 505, 506, 507, 508, 509, 510, 511, 512};
  std::vector<float> rows(many.size() * kWidth);
  EXPECT_THAT(error_of(ErrorKind::io, [&] { other.lookup(0, many, rows.data()); }),
              AllOf(HasSubstr("no space"), HasSubstr("No space left on device")));
  EXPECT_FALSE(cluster_->shard(0).is_broken());
  EXPECT_THAT(*cluster_->shard(0).disk_full(), HasSubstr("cannot write cold rows in "));
  EXPECT_GT(answered(Op::push, Code::no_space), 0u);
  EXPECT_EQ(answered(Op::push, Code::failed), 0u);
  EXPECT_TRUE(cluster_->shard(0).tables().at(0).statistics.disk_full);
  disk_.make_room();
  pushing.get();
  EXPECT_FALSE(cluster_->shard(0).disk_full());
  SparseTable one = reference(Mode::asynchronous);
  for (Id id = 0; id < kRows; ++id) one.update(std::vector<Id>{id}, ones().data(), {.rate = 1});
  EXPECT_EQ(client.digest(0), one.digest());
}

// One of two tables has applied the step already.
TEST_F(NoSpaceOn, AStepOfAllIsAppliedWhenThereIsRoom) {
  constexpr Id kRows = 300;
  cluster_->set_members(1, 1);
  ParameterClient client(cluster_->network(), cluster_->client(1));
  client.declare(0, table(false, Mode::synchronous));
  client.declare(1, table(true, Mode::synchronous));
  client.join(1, 0);
  std::uint64_t step = 0;
  const auto take_step = [&] {
    const std::vector<Id> id = {step};
    client.begin_step(++step);
    client.push(0, id, ones().data(), {.rate = 1});
    client.push(1, id, ones().data(), {.rate = 1});
    client.finish_step();
  };
  auto training = std::async(std::launch::async, [&] {
    while (step < kRows) take_step();
  });
  wait_until_full();
  disk_.make_room();
  training.get();
  EXPECT_FALSE(cluster_->shard(0).is_broken());
  EXPECT_GT(answered(Op::finish_step, Code::no_space), 0u);
  SparseTable one = reference(Mode::synchronous);
  for (Id id = 0; id < kRows; ++id) one.update(std::vector<Id>{id}, ones().data(), {.rate = 1});
  EXPECT_EQ(client.digest(0), one.digest());
  EXPECT_EQ(client.digest(1), one.digest());
  EXPECT_EQ(cluster_->shard(0).statistics().steps, kRows);
}

// A member that continued in another generation would repeat the part that one table has.
TEST_F(NoSpaceOn, AStepThatWasAppliedInPartDoesNotEndWithItsGeneration) {
  cluster_->set_members(1, 1);
  ClientOptions options = cluster_->client(1);
  options.deadline = Milliseconds(3000);
  ParameterClient client(cluster_->network(), options);
  client.declare(0, table(false, Mode::synchronous));
  client.declare(1, table(true, Mode::synchronous));
  client.join(1, 0);
  auto training = std::async(std::launch::async, [&] {
    for (std::uint64_t step = 1;; ++step) {
      client.begin_step(step);
      for (const std::uint32_t table : {0, 1}) {
        client.push(table, std::vector<Id>{step}, ones().data(), {.rate = 1});
      }
      client.finish_step();
    }
  });
  wait_until_full();
  cluster_->shard(0).set_members(2, 1, 1);
  EXPECT_TRUE(cluster_->shard(0).is_broken());
  EXPECT_THAT(error_of(ErrorKind::io, [&] { cluster_->shard(0).check(); }),
              HasSubstr("a step was applied in part"));
  cluster_->cut_network(0);
  EXPECT_NE(error_of([&] { training.get(); }), "no error");
}

// Fault 14: a server counted a step as applied before it was. If there was no space for it, and
// then members changed, it dropped the gradients, and the members took the step for done.
TEST_F(NoSpaceOn, AStepThatWasNotAppliedIsRepeatedByTheNextGeneration) {
  cluster_->set_members(1, 1);
  ParameterClient client(cluster_->network(), cluster_->client(1));
  client.declare(0, table(true, Mode::synchronous));
  client.join(1, 0);
  const auto take_step = [&](std::uint64_t step) {
    client.begin_step(step);
    client.push(0, std::vector<Id>{step}, ones().data(), {.rate = 1});
    client.finish_step();
  };
  std::uint64_t step = 0;
  auto training = std::async(std::launch::async, [&] {
    EXPECT_THROW(for (;; ++step) take_step(step + 1), StaleGeneration);
  });
  while (answered(Op::finish_step, Code::no_space) == 0) {
    std::this_thread::sleep_for(Milliseconds(2));
  }
  cluster_->shard(0).set_members(2, 1, 1);
  training.get();
  EXPECT_FALSE(cluster_->shard(0).is_broken()) << "nothing of the step was applied";
  ServerClients leader(cluster_->network(), kTestSecurity,
                       [](std::size_t, const std::string&) { return false; });
  leader.aim(cluster_->view().addresses, 1);
  EXPECT_EQ(leader.progress(1).step, step);
  disk_.make_room();
  client.join(2, 0);
  for (std::uint64_t next = leader.progress(1).step + 1; next <= step + 3; ++next) take_step(next);
  SparseTable one = reference(Mode::synchronous);
  for (Id id = 1; id <= step + 3; ++id) one.update(std::vector<Id>{id}, ones().data(), {.rate = 1});
  EXPECT_EQ(client.digest(0), one.digest());
}

}  // namespace
}  // namespace trireme::distributed
