// mpirun -n PROCESSES ... all_reduce [MEGABYTES] [ROUNDS] [ENGINE]: the sum of float32 over all processes by Trireme's group, by
// Gloo's own all-reduce and by MPI, in turn, over and over again in the same processes, so that whatever else the
// machine does hits all three. Rank 0 prints one JSON line for each: the median and the best time of one
// all-reduce, and the medians of how often faster than the two others Trireme's was in the same round.

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "distributed/collectives/group.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/coordination/memory_store.h"
#include "measuring.h"

namespace {

using trireme::distributed::Group;

constexpr int kRepeats = 3;  // of each in a round

int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

int from_first(int number) {
  MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return number;
}

// A way to add up. `wait` is a barrier of its own: MPI's would keep a processor busy while others still work.
struct Engine {
  const char* name;
  std::function<void(std::vector<float>&)> add_up;
  std::function<void()> wait;
  std::vector<double> seconds = {};  // of one all-reduce, by round: the slowest rank's
};

class Gloo {
 public:
  Gloo()
      : folder_("/tmp/trireme_gloo_" + std::to_string(from_first(static_cast<int>(::getpid())))) {
    std::filesystem::create_directories(folder_);
    gloo::transport::tcp::attr attributes;
    attributes.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(folder_);
    context_ = std::make_shared<gloo::rendezvous::Context>(rank(), size());
    context_->connectFullMesh(store, device);
  }
  void add_up(std::vector<float>& values) {
    gloo::AllreduceOptions options(context_);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
  }
  void wait() {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }
  void clean() { std::filesystem::remove_all(folder_); }

 private:
  const std::string folder_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
};

// Whole numbers below 2^24: the sum is exact.
void fill(std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i + static_cast<std::size_t>(rank()) * 31) % 1000);
  }
}

void check(const Engine& engine, const std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); i += 997) {
    std::size_t sum = 0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(size()); ++r) sum += (i + r * 31) % 1000;
    if (values[i] != static_cast<float>(sum)) {
      std::cerr << engine.name << " adds up wrongly\n";
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

double measure(Engine& engine, std::vector<float>& values) {
  fill(values);
  engine.add_up(values);  // also brings all to the same moment
  check(engine, values);
  std::fill(values.begin(), values.end(), 1.0F);
  engine.wait();
  const double start = bench::now();
  for (int i = 0; i < kRepeats; ++i) engine.add_up(values);
  engine.wait();
  return (bench::now() - start) / kRepeats;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void report(const std::vector<Engine>& engines, std::size_t bytes) {
  for (const Engine& engine : engines) {
    std::vector<double> faster;
    for (std::size_t i = 0; i < engine.seconds.size(); ++i) {
      faster.push_back(engine.seconds[i] / engines[0].seconds[i]);
    }
    const double middle = median(engine.seconds);
    std::cout << "{\"engine\": \"" << engine.name << "\", \"processes\": " << size()
              << ", \"megabytes\": " << static_cast<double>(bytes) / 1e6
              << ", \"ms\": " << middle * 1e3 << ", \"best_ms\": "
              << *std::min_element(engine.seconds.begin(), engine.seconds.end()) * 1e3
              << ", \"gb_per_s\": " << static_cast<double>(bytes) / middle / 1e9
              << ", \"trireme_is_faster_by\": " << median(faster) << "}\n";
  }
}

void run(std::size_t count, int rounds, const std::string& only) {
  const auto memory = trireme::distributed::make_memory_store();
  const trireme::distributed::EtcdServer server(*memory, {});
  const auto store = trireme::distributed::connect_etcd(
      {.address = "127.0.0.1:" + std::to_string(from_first(server.port()))});
  Group group(*store, "bench/", 1, rank(), size(),
              {.timeout = trireme::distributed::Milliseconds(60000)});
  Gloo gloo;
  std::vector<Engine> engines = {
      {"trireme", [&](auto& values) { group.all_reduce(std::span<float>(values)); },
       [&] { group.barrier(); }},
      {"gloo", [&](auto& values) { gloo.add_up(values); }, [&] { gloo.wait(); }},
      {"mpi",
       [](auto& values) {
         MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT,
                       MPI_SUM, MPI_COMM_WORLD);
       },
       [] { MPI_Barrier(MPI_COMM_WORLD); }}};
  if (!only.empty()) {  // to be looked at by a profiler
    std::erase_if(engines, [&](const Engine& engine) { return engine.name != only; });
  }
  std::vector<float> values(count);
  for (int round = -1; round < rounds; ++round) {  // one to warm up
    for (std::size_t i = 0; i < engines.size(); ++i) {
      Engine& engine = engines[(i + static_cast<std::size_t>(round + 1)) % engines.size()];
      const double seconds = measure(engine, values);
      if (round >= 0) engine.seconds.push_back(seconds);
    }
  }
  for (Engine& engine : engines) {
    MPI_Allreduce(MPI_IN_PLACE, engine.seconds.data(), rounds, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  if (rank() == 0) report(engines, count * sizeof(float));
  if (rank() == 0) gloo.clean();
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double megabytes = argc > 1 ? std::atof(argv[1]) : 16;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  if (megabytes <= 0 || rounds < 1 || argc > 4) {
    std::cerr << "usage: mpirun -n PROCESSES all_reduce [MEGABYTES] [ROUNDS] [trireme|gloo|mpi]\n";
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  run(static_cast<std::size_t>(megabytes * 1e6 / sizeof(float)), rounds, argc > 3 ? argv[3] : "");
  MPI_Finalize();
  return 0;
}
