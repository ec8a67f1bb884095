// mpirun -n PROCESSES ... all_reduce [MEGABYTES] [ROUNDS] [ENGINE]: compares the all-reduce of
// Trireme's group, of Gloo and of MPI on float32 sums. The three run in turn in the same processes,
// so that other load of the machine affects all of them.
// Rank 0 prints one JSON line per engine: the median and the best time of one all-reduce, and the
// median over rounds of its time divided by Trireme's in the same round.

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

constexpr int kRepeats = 3;  // all-reduces of each engine per round

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

// The number of rank 0.
int broadcast(int number) {
  MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return number;
}

// An implementation of all-reduce with its own barrier. The barrier of MPI would keep a processor
// busy while other ranks still work.
struct Engine {
  const char* name;
  std::function<void(std::vector<float>&)> all_reduce;
  std::function<void()> barrier;
  std::vector<double> seconds = {};  // per all-reduce and round, of the slowest rank
};

class Gloo {
 public:
  Gloo() : folder_("/tmp/trireme_gloo_" + std::to_string(broadcast(static_cast<int>(::getpid())))) {
    std::filesystem::create_directories(folder_);
    gloo::transport::tcp::attr attributes;
    attributes.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(folder_);
    context_ = std::make_shared<gloo::rendezvous::Context>(rank(), size());
    context_->connectFullMesh(store, device);
  }
  void all_reduce(std::vector<float>& values) {
    gloo::AllreduceOptions options(context_);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
  }
  void barrier() {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }
  void remove_folder() { std::filesystem::remove_all(folder_); }

 private:
  const std::string folder_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
};

// Fills with integers whose sums stay below 2^24, so that they are exact.
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
      std::cerr << engine.name << ": wrong sum at element " << i << '\n';
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

double measure(Engine& engine, std::vector<float>& values) {
  fill(values);
  engine.all_reduce(values);  // also synchronizes the ranks
  check(engine, values);
  std::fill(values.begin(), values.end(), 1.0F);
  engine.barrier();
  const double start = bench::now();
  for (int i = 0; i < kRepeats; ++i) engine.all_reduce(values);
  engine.barrier();
  return (bench::now() - start) / kRepeats;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void report(const std::vector<Engine>& engines, std::size_t bytes) {
  for (const Engine& engine : engines) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < engine.seconds.size(); ++i) {
      ratios.push_back(engine.seconds[i] / engines[0].seconds[i]);
    }
    const double seconds = median(engine.seconds);
    std::cout << "{\"engine\": \"" << engine.name << "\", \"processes\": " << size()
              << ", \"megabytes\": " << static_cast<double>(bytes) / 1e6
              << ", \"ms\": " << seconds * 1e3 << ", \"best_ms\": "
              << *std::min_element(engine.seconds.begin(), engine.seconds.end()) * 1e3
              << ", \"gb_per_s\": " << static_cast<double>(bytes) / seconds / 1e9
              << ", \"trireme_is_faster_by\": " << median(ratios) << "}\n";
  }
}

void run(std::size_t count, int rounds, const std::string& only) {
  const auto memory = trireme::distributed::make_memory_store();
  const trireme::distributed::EtcdServer server(*memory, {.security = {.token = "t"}});
  const auto store = trireme::distributed::connect_etcd(
      {.address = "127.0.0.1:" + std::to_string(broadcast(server.port())),
       .security = {.token = "t"}});
  Group group(*store, "bench/", 1, rank(), size(),
              {.timeout = trireme::distributed::Milliseconds(60000)});
  Gloo gloo;
  std::vector<Engine> engines = {
      {"trireme", [&](auto& values) { group.all_reduce(std::span<float>(values)); },
       [&] { group.barrier(); }},
      {"gloo", [&](auto& values) { gloo.all_reduce(values); }, [&] { gloo.barrier(); }},
      {"mpi",
       [](auto& values) {
         MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT,
                       MPI_SUM, MPI_COMM_WORLD);
       },
       [] { MPI_Barrier(MPI_COMM_WORLD); }}};
  if (!only.empty()) {  // for a profiler
    std::erase_if(engines, [&](const Engine& engine) { return engine.name != only; });
  }
  std::vector<float> values(count);
  for (int round = -1; round < rounds; ++round) {  // round -1 is warm-up
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
  if (rank() == 0) gloo.remove_folder();
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
