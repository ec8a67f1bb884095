// A member of a job that trains a Program; the test controls its master and server.

#include "distributed/launch/training_member.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "distributed/control/server_clients.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/master/master.h"
#include "distributed/server/parameter_server.h"
#include "distributed/server/testing/cluster.h"
#include "trireme/trireme.h"

namespace trireme::distributed {
namespace {

constexpr const char* kJob = "job/";
constexpr std::int64_t kRecords = 24, kBatch = 4, kTaskBatches = 2;

data::Batch all_records() {
  Tensor ids(i64, {kRecords});
  std::iota(ids.data<std::int64_t>(), ids.data<std::int64_t>() + kRecords, 0);
  return {{"id", ids}};
}

// Trains a Program that adds one to the row of each record, in a separate thread.
class Counting {
 public:
  Counting(const RoleOptions& options, Distribution::Mode mode)
      : member_(options), thread_([this, mode] { train(mode); }) {}
  ~Counting() {
    if (thread_.joinable()) thread_.join();
  }
  // The result after the training: by record.
  std::vector<float> counts() {
    thread_.join();
    return counts_;
  }

 private:
  void train(Distribution::Mode mode) {
    Program program("counts");
    const Value id = program.input("id", i64, {batch});
    const Value rows = nn::embedding(id, {.num_embeddings = kRecords,
                                          .dim = 1,
                                          .weight_init = nn::zeros(),
                                          .sparse_gradient = true});
    const Value counts = rows * 1.0f;
    TrainerOptions options{.loss = mean(counts * static_cast<float>(-kBatch)),
                           .optimizer = Sgd{.learning_rate = 1}};
    member_.extend(program, options, {.mode = mode, .checkpoint_seconds = 0}, {});
    Trainer trainer(program, options);
    member_.train(trainer, data::from_tensors(all_records()).batch(kBatch));
    member_.gather_tables();
    counts_ = trainer.session().run(all_records(), {counts}).at(0).to_vector<float>();
  }
  TrainingMember member_;
  std::vector<float> counts_;
  std::thread thread_;
};

class Members : public ::testing::TestWithParam<Distribution::Mode> {
 protected:
  Members()
      : store_(make_memory_store()),
        served_(*store_, {.security = kTestSecurity}),
        server_({.transport = {.security = kTestSecurity}}),
        server_clients_(network_, kTestSecurity,
                        [](std::size_t, const std::string&) { return false; }),
        master_(*store_, master_options()) {
    server_clients_.aim({address_of(server_.port())}, 1);
    server_clients_.set_map(SlotMap::balanced(1));
    wait_until([this] { return master_.leads(); });
  }
  static std::string address_of(int port) { return "127.0.0.1:" + std::to_string(port); }
  static MasterOptions master_options() {
    MasterOptions options;
    options.prefix = kJob;
    options.server.security = kTestSecurity;
    options.tasks = [](std::int64_t) { return tasks_of(kRecords / kBatch, kTaskBatches); };
    options.hold = true;
    return options;
  }
  RoleOptions role() const {
    RoleOptions options;
    options.store = address_of(served_.port());
    options.security = options.store_security = kTestSecurity;
    options.prefix = kJob;
    options.name = "trainer_0";
    options.servers = 1;
    return options;
  }
  // The servers begin a new generation after `rollbacks` rollbacks, and publish it.
  void tell(std::uint32_t rollbacks) {
    JobView view;
    view.servers = {SlotMap::balanced(1), {address_of(server_.port())}};
    view.instances = {1};
    view.generation = view.rollbacks = rollbacks;
    server_clients_.set_members(view.generation, 0);
    store_->put(view_key(kJob), text_of(view));
  }
  template <class Condition>
  static void wait_until(const Condition& condition) {
    for (int i = 0; i < 6000 && !condition(); ++i) {
      std::this_thread::sleep_for(Milliseconds(10));
    }
    EXPECT_TRUE(condition());
  }
  std::uint64_t requests() const { return master_.transport().requests; }
  const std::unique_ptr<Store> store_;
  EtcdServer served_;
  Network network_;
  ParameterServer server_;
  ServerClients server_clients_;
  Master master_;
};

// It found no task for some time, and then gets one from after a rollback that it does not know:
// all of it is trained.
TEST_P(Members, AFirstTaskOfALaterTimeIsLearnedWhole) {
  tell(1);
  Counting trainer(role(), GetParam());
  const std::uint64_t before = requests();
  wait_until([&] { return requests() > before + 3; });  // it is in generation 1, and asks
  tell(2);
  master_.go_on(2);
  wait_until([this] { return master_.all_over(); });
  master_.conclude();
  EXPECT_EQ(trainer.counts(), std::vector<float>(kRecords, 1));
}

INSTANTIATE_TEST_SUITE_P(Modes, Members,
                         ::testing::Values(Distribution::Mode::asynchronous,
                                           Distribution::Mode::geo));

}  // namespace
}  // namespace trireme::distributed
