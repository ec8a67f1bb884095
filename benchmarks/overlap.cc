// overlap RANK ADDRESS FOLDER [ROUNDS] [BUCKET_KIB]: one of two processes that train a convolutional network by all-reduce over a link
// between two addresses, 1 thread each; overlap.sh makes the link. In turn, over and over again: steps of each process
// alone, steps that exchange gradients after backward, and steps that exchange them while backward still runs. Rank 0 prints
// one JSON line for each, medians over rounds, and which share of the exchange's time the last way hides: by medians of what
// each round took more than its steps alone, since a shared machine is faster in some rounds than in others.

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
constexpr int kSteps = 5;  // of each way in a round

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

// A way to take a step.
struct Way {
  Way(const char* called, const Link& link, bool exchange, bool overlap, std::size_t bucket)
      : name(called) {
    bytes = model.bytes();
    TrainerOptions options = {
        .loss = model.loss, .optimizer = Adam{.learning_rate = 1e-3}, .threads = 1};
    if (exchange) {
      DataParallelOptions parallel;
      parallel.group.prefix = std::string("overlap/") + name + "/";
      parallel.group.name = "rank_" + std::to_string(link.rank);
      parallel.group.least = 2;
      parallel.group.group.address = link.address;
      parallel.bucket_bytes = bucket;
      parallel.overlap = overlap;
      together.emplace(link.store, parallel, model.program, model.image);
      together->extend(options);
    }
    trainer.emplace(model.program, options);
    if (together) together->join(*trainer);
  }
  double step(const data::Batch& examples) {
    return together ? together->step(examples) : trainer->step(examples);
  }

  const char* name;
  Model model;
  std::int64_t bytes = 0;
  std::optional<DataParallel> together;
  std::optional<Trainer> trainer;
  std::vector<double> ms = {};  // of a step, by round: the slower process's
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

// Of this machine's link, while nothing else is done: bytes that a member sends in an all-reduce of two, by the time.
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

// By how many milliseconds a step of one way takes longer than one of another in the same round.
double longer_than(const Way& shorter, const Way& way) {
  std::vector<double> more;
  for (std::size_t i = 0; i < way.ms.size(); ++i) more.push_back(way.ms[i] - shorter.ms[i]);
  return median(std::move(more));
}

void report(const std::vector<std::unique_ptr<Way>>& ways, double link) {
  for (const auto& way : ways) {
    std::cout << "{\"way\": \"" << way->name << "\", \"ms\": " << median(way->ms)
              << ", \"best_ms\": " << *std::min_element(way->ms.begin(), way->ms.end()) << "}\n";
  }
  const double after = longer_than(*ways[0], *ways[1]), during = longer_than(*ways[0], *ways[2]);
  std::cout << "{\"parameters_mb\": " << static_cast<double>(ways[0]->bytes) / 1e6
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
  std::vector<std::unique_ptr<Way>> ways;
  ways.push_back(std::make_unique<Way>("alone", link, false, false, bucket));
  ways.push_back(std::make_unique<Way>("exchange_after", link, true, false, bucket));
  ways.push_back(std::make_unique<Way>("exchange_during", link, true, true, bucket));
  const std::vector<data::Batch> batches = batches_of(link.rank);
  std::size_t next = 0;
  for (int round = -1; round < rounds; ++round) {  // one to warm up
    for (std::size_t i = 0; i < ways.size(); ++i) {
      Way& way = *ways[(i + static_cast<std::size_t>(round + 1)) % ways.size()];
      way.step(batches[next++ % batches.size()]);
      group.barrier();
      const double start = bench::now();
      for (int step = 0; step < kSteps; ++step) way.step(batches[next++ % batches.size()]);
      group.barrier();
      if (round >= 0) way.ms.push_back((bench::now() - start) / kSteps * 1e3);
    }
  }
  if (link.rank == 0) report(ways, speed);
  group.barrier();
}

// Rank 0 serves the store by which the two find each other, and says where in the folder.
void start(int rank, const std::string& address, const std::string& folder, int rounds,
           std::size_t bucket) {
  const Security security = obtain_credentials(folder + "/keys", rank == 0, Milliseconds(20000));
  const std::string file = folder + "/store";
  if (rank == 0) {
    const auto memory = make_memory_store();
    const EtcdServer server(*memory, {.address = address + ":0", .security = security});
    const std::string where = address + ":" + std::to_string(server.port());
    std::ofstream(file + ".new") << where;
    std::filesystem::rename(file + ".new", file);
    const auto store = connect_etcd({.address = where, .security = security});
    run({rank, address, *store}, rounds, bucket);
    ::sleep(1);  // the other one ends its leases
    return;
  }
  std::string where;
  for (int i = 0; i < 200 && where.empty(); ++i) {
    std::this_thread::sleep_for(Milliseconds(100));
    std::ifstream(file) >> where;
  }
  const auto store = connect_etcd({.address = where, .security = security});
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
