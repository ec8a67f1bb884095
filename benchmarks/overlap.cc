// overlap RANK ADDRESS FOLDER [ROUNDS] [BUCKET_KIB]: one of two processes that train a
// convolutional network with all-reduce over a link between two addresses, 1 thread each.
// overlap.sh makes the link. Every round measures three modes in turn: each process alone,
// gradients exchanged after backward, and gradients exchanged during backward. Rank 0 prints one
// JSON line per mode with medians over rounds, and the share of the exchange that the last mode
// hides. The share uses the time that each mode takes longer than "alone" in the same round,
// because the speed of a shared machine differs between rounds.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include "distributed/collectives/group.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/placement/authority.h"
#include "distributed/strategy/data_parallel.h"
#include "measuring.h"
#include "trireme/trireme.h"

namespace {

using namespace trireme;
using namespace trireme::distributed;

constexpr std::int64_t kBatch = 128;
constexpr int kSteps = 5;  // steps of each mode per round

struct Model {
  Program program{"convolutional"};
  Value image = program.input("image", f32, {batch, 1, 28, 28});
  Value label = program.input("label", i64, {batch});
  Value loss;

  Model() {
    Value x =
        nn::conv2d(image, {.channels = 32, .kernel = 5, .padding = 2, .activation = nn::relu});
    x = nn::max_pool(x, {.kernel = 2});
    x = nn::conv2d(x, {.channels = 64, .kernel = 5, .padding = 2, .activation = nn::relu});
    x = nn::max_pool(x, {.kernel = 2});
    x = nn::linear(nn::flatten(x), {.units = 512, .activation = nn::relu});
    loss = mean(nn::cross_entropy(nn::linear(x, {.units = 10}), label));
  }
  std::int64_t bytes() const {
    std::int64_t elements = 0;
    for (const Value& parameter : program.parameters()) {
      if (parameter.name().find("adam") != std::string::npos || parameter.dtype() != f32) continue;
      std::int64_t count = 1;
      for (int axis = 0; axis < parameter.rank(); ++axis) count *= parameter.dim(axis).constant();
      elements += count;
    }
    return elements * 4;
  }
};

struct Link {
  int rank;
  std::string address;
  Store& store;
};

// A mode with its own model and trainer.
struct Mode {
  Mode(const char* mode_name, const Link& link, bool exchange, bool overlap, std::size_t bucket)
      : name(mode_name) {
    bytes = model.bytes();
    TrainerOptions options = {
        .loss = model.loss, .optimizer = Adam{.learning_rate = 1e-3}, .session = {.threads = 1}};
    if (exchange) {
      DataParallelOptions parallel;
      parallel.group.prefix = std::string("overlap/") + name + "/";
      parallel.group.name = "rank_" + std::to_string(link.rank);
      parallel.group.min_members = 2;
      parallel.group.group.address = link.address;
      parallel.bucket_bytes = bucket;
      parallel.overlap = overlap;
      data_parallel.emplace(link.store, parallel, model.program, model.image);
      data_parallel->extend(options);
    }
    trainer.emplace(model.program, options);
    if (data_parallel) data_parallel->join(*trainer);
  }
  double step(const data::Batch& examples) {
    return data_parallel ? data_parallel->step(examples) : trainer->step(examples);
  }

  const char* name;
  Model model;
  std::int64_t bytes = 0;
  std::optional<DataParallel> data_parallel;  // empty: the process trains alone
  std::optional<Trainer> trainer;
  std::vector<double> ms = {};  // milliseconds per step in each round, of the slower process
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<data::Batch> batches_of(int rank) {
  const data::Dataset images = data::mnist("train");
  std::vector<data::Batch> batches;
  for (std::int64_t i = 0; i < 16; ++i) {
    const std::int64_t begin = (2 * i + rank) * kBatch;
    batches.push_back(images.rows(begin, begin + kBatch));
  }
  return batches;
}

// The speed of the idle link in Gbit/s, from the bytes that a member sends in an all-reduce of two.
double gigabits(Group& group) {
  std::vector<float> values(4'000'000, 1);
  std::vector<double> seconds;
  for (int i = 0; i < 7; ++i) {
    group.barrier();
    const double start = bench::now();
    group.all_reduce(values, Reduction::mean);
    seconds.push_back(bench::now() - start);
  }
  return static_cast<double>(values.size() * sizeof(float)) * 8 / median(seconds) / 1e9;
}

// The median over rounds of the milliseconds that a step of `mode` takes longer than one of `base`.
double extra_ms(const Mode& base, const Mode& mode) {
  std::vector<double> extra;
  for (std::size_t i = 0; i < mode.ms.size(); ++i) extra.push_back(mode.ms[i] - base.ms[i]);
  return median(std::move(extra));
}

void report(const std::vector<std::unique_ptr<Mode>>& modes, double link) {
  for (const auto& mode : modes) {
    std::cout << "{\"way\": \"" << mode->name << "\", \"ms\": " << median(mode->ms)
              << ", \"best_ms\": " << *std::min_element(mode->ms.begin(), mode->ms.end()) << "}\n";
  }
  const double after = extra_ms(*modes[0], *modes[1]), during = extra_ms(*modes[0], *modes[2]);
  std::cout << "{\"parameters_mb\": " << static_cast<double>(modes[0]->bytes) / 1e6
            << ", \"link_gbit_per_s\": " << link << ", \"exchange_ms\": " << after
            << ", \"not_hidden_ms\": " << during << ", \"hidden_share\": " << 1 - during / after
            << "}" << std::endl;
}

void run(const Link& link, int rounds, std::size_t bucket) {
  GroupOptions options;
  options.address = link.address;
  options.form_timeout = Milliseconds(60000);
  Group group(link.store, "overlap/bench/", 1, link.rank, 2, options);
  const double speed = gigabits(group);
  std::vector<std::unique_ptr<Mode>> modes;
  modes.push_back(std::make_unique<Mode>("alone", link, false, false, bucket));
  modes.push_back(std::make_unique<Mode>("exchange_after", link, true, false, bucket));
  modes.push_back(std::make_unique<Mode>("exchange_during", link, true, true, bucket));
  const std::vector<data::Batch> batches = batches_of(link.rank);
  std::size_t next = 0;
  for (int round = -1; round < rounds; ++round) {  // round -1 is warm-up
    for (std::size_t i = 0; i < modes.size(); ++i) {
      Mode& mode = *modes[(i + static_cast<std::size_t>(round + 1)) % modes.size()];
      mode.step(batches[next++ % batches.size()]);
      group.barrier();
      const double start = bench::now();
      for (int step = 0; step < kSteps; ++step) mode.step(batches[next++ % batches.size()]);
      group.barrier();
      if (round >= 0) mode.ms.push_back((bench::now() - start) / kSteps * 1e3);
    }
  }
  if (link.rank == 0) report(modes, speed);
  group.barrier();
}

// Runs the benchmark in this process. Rank 0 serves the coordination store of both processes and
// writes its address to a file in the folder.
void start(int rank, const std::string& address, const std::string& folder, int rounds,
           std::size_t bucket) {
  const Security security = obtain_credentials(folder + "/keys", rank == 0, Milliseconds(20000));
  const std::string file = folder + "/store";
  if (rank == 0) {
    const auto memory = make_memory_store();
    const EtcdServer server(*memory, {.address = address + ":0", .security = security});
    const std::string store_address = address + ":" + std::to_string(server.port());
    std::ofstream(file + ".new") << store_address;
    std::filesystem::rename(file + ".new", file);
    const auto store = connect_etcd({.address = store_address, .security = security});
    run({rank, address, *store}, rounds, bucket);
    ::sleep(1);  // rank 1 still revokes its leases
    return;
  }
  std::string store_address;
  for (int i = 0; i < 200 && store_address.empty(); ++i) {
    std::this_thread::sleep_for(Milliseconds(100));
    std::ifstream(file) >> store_address;
  }
  const auto store = connect_etcd({.address = store_address, .security = security});
  run({rank, address, *store}, rounds, bucket);
}

}  // namespace

int main(int argc, char** argv) {
  const int rank = argc > 1 ? std::atoi(argv[1]) : -1;
  const int rounds = argc > 4 ? std::atoi(argv[4]) : 15;
  const int bucket = argc > 5 ? std::atoi(argv[5]) : 4096;
  if (argc < 4 || argc > 6 || rank < 0 || rank > 1 || rounds < 1 || bucket < 1) {
    std::cerr << "usage: overlap 0|1 ADDRESS FOLDER [ROUNDS] [BUCKET_KIB]\n";
    return 2;
  }
  try {
    start(rank, argv[2], argv[3], rounds, static_cast<std::size_t>(bucket) * 1024);
  } catch (const Error& error) {
    std::cerr << "rank " << rank << ": " << error.what() << '\n';
    return 1;
  }
}
