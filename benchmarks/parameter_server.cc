// Measures parameter servers under the load of a CTR job. Each server has one core; trainers run on
// the other cores. A step has 512 samples of 26 ids, with rows of 16 floats: one lookup and one
// AdaGrad push, while the rows of the next step are fetched. Prints one JSON line per case:
//   trainers: the clients of real trainers, which need more time than the server
//   requests: with one server only; recorded requests of such steps, with dense parameters, sent
//     repeatedly to saturate the server
//
// usage: parameter_server [ROWS] [SECONDS] [TRAINERS] [SERVERS]

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "distributed/server/client.h"
#include "distributed/server/parameter_server.h"
#include "distributed/server/plan.h"
#include "measuring.h"

namespace {

using namespace trireme::distributed;

constexpr std::size_t kSamples = 512, kIds = kSamples * 26, kWidth = 16;
// Shape of the dense parameters: about the size of DeepFM on 13 numbers and 26 rows with layers of
// 128 and 64.
constexpr std::int64_t kDenseRows = 496, kDenseColumns = 128;
constexpr std::size_t kBatches = 64;  // distinct batches
const Security kSecurity = {.token = "benchmark"};

// Pins this process to cores [first, last).
void pin_to(int first, int last) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int core = first; core < last; ++core) CPU_SET(core, &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);
}

int all_cores() { return static_cast<int>(std::thread::hardware_concurrency()); }

[[noreturn]] void serve(int place, int servers, int to) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin_to(place % all_cores(), place % all_cores() + 1);
  ParameterServerOptions options;
  options.transport.security = kSecurity;
  options.transport.threads = 1;
  options.shard.place = place;
  ParameterServer server(options);
  server.shard().set_map(SlotMap::balanced(servers), 1);
  const int port = server.port();
  if (::write(to, &port, sizeof port) != sizeof port) std::abort();
  while (true) ::pause();
}

// Processor seconds that the process has used.
double cpu_seconds(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double own_cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Server {
  pid_t process;
  int port;
};

// Forks the servers; must run before gRPC starts threads. Returns an empty list if one fails to
// start.
std::vector<Server> start_servers(int servers) {
  std::vector<Server> started;
  for (int place = 0; place < servers; ++place) {
    int pipe[2];
    if (::pipe(pipe) != 0) return {};
    Server server{::fork(), 0};
    if (server.process == 0) serve(place, servers, pipe[1]);
    if (server.process < 0 ||
        ::read(pipe[0], &server.port, sizeof server.port) != sizeof server.port) {
      return {};
    }
    started.push_back(server);
  }
  return started;
}

double cpu_seconds(const std::vector<Server>& servers) {
  double seconds = 0;
  for (const Server& server : servers) seconds += cpu_seconds(server.process);
  return seconds;
}

// Batch number `batch` of a trainer, with ids that are uniform or follow a power law.
std::vector<Id> batch_of(std::uint64_t trainer, std::uint64_t batch, std::uint64_t rows,
                         bool zipf) {
  std::vector<Id> ids(kIds);
  for (std::size_t i = 0; i < kIds; ++i) {
    const double u = bench::uniform(7 + trainer, batch * kIds + i);
    const double rank =
        zipf ? std::pow(static_cast<double>(rows), u) - 1 : u * static_cast<double>(rows);
    ids[i] = static_cast<Id>(rank) * 0x9e3779b97f4a7c15u;
  }
  return ids;
}

struct Load {
  std::vector<Server> servers;
  std::uint64_t rows;
  bool zipf;
  double seconds;
};

std::string address_of(const Server& server) { return "127.0.0.1:" + std::to_string(server.port); }

ServerView view_of(const Load& load) {
  ServerView view = {SlotMap::balanced(static_cast<int>(load.servers.size())), {}};
  for (const Server& server : load.servers) view.addresses.push_back(address_of(server));
  return view;
}

void declare(ParameterClient& client) {
  TableDeclaration declaration;
  declaration.options.name = "ctr";
  declaration.options.width = static_cast<int>(kWidth);
  declaration.options.rule = RowRule::adagrad();
  declaration.options.initializer = RowInitializer::uniform(-0.01, 0.01);
  client.declare(0, declaration);
  const std::vector<float> weights(kDenseRows * kDenseColumns, 0.01F);
  client.declare(
      {{0,
        {.name = "dense", .rows = kDenseRows, .columns = kDenseColumns, .rule = RowRule::adagrad()},
        weights}});
}

// Returns the number of steps in load.seconds, after a warm-up of the same length.
std::uint64_t train(const Load& load, std::uint64_t trainer) {
  Network network;
  const ServerView view = view_of(load);
  ParameterClient client(
      network, {.view = [&] { return view; },
                .security = kSecurity,
                .sender = static_cast<std::uint32_t>(trainer) + 1 + (load.zipf ? 100 : 0)});
  declare(client);
  std::vector<std::vector<Id>> batches;
  for (std::uint64_t i = 0; i < kBatches; ++i)
    batches.push_back(batch_of(trainer, i, load.rows, load.zipf));
  std::vector<float> rows(kIds * kWidth), next_rows(rows), gradients(kIds * kWidth);
  for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = bench::uniform(1, i) - 0.5F;
  const double begin = bench::now(), warm = begin + load.seconds, end = warm + load.seconds;
  std::uint64_t counted = 0;
  Underway fetched = client.prefetch(0, batches[0], next_rows.data());
  std::optional<Underway> push;
  for (std::size_t step = 0; bench::now() < end; ++step) {
    fetched.wait();
    rows.swap(next_rows);
    fetched = client.prefetch(0, batches[(step + 1) % kBatches], next_rows.data());
    if (push) push->wait();
    push.emplace(client.start_push(0, batches[step % kBatches], gradients.data(), {.rate = 0.01}));
    if (bench::now() > warm) ++counted;
  }
  fetched.wait();
  push->wait();
  return counted;
}

Frame request_of(Op op, std::size_t count) {
  Frame frame;
  frame.header.op = static_cast<std::uint8_t>(op);
  frame.header.count = static_cast<std::uint32_t>(count);
  frame.header.map_version = 1;
  return frame;
}

template <class T>
void append(Payload& payload, const T* values, std::size_t n) {
  std::copy_n(values, n, payload.extend<T>(n));
}

// The requests of one step: a lookup of rows, a pull of dense parameters, and pushes of both.
std::vector<Frame> requests_of(const std::vector<Id>& ids, const std::vector<float>& gradients) {
  const Plan plan(ids);
  const auto sums = plan.sums(gradients.data(), kWidth);
  const StepNumbers numbers{0.01, 1};
  Frame lookup = request_of(Op::lookup, plan.size()), push = request_of(Op::push, plan.size());
  lookup.header.flags = kCreate;
  append(lookup.payload, plan.ids().data(), plan.size());
  append(push.payload, &numbers, 1);
  *push.payload.extend<std::uint64_t>(1) = 0;
  append(push.payload, plan.ids().data(), plan.size());
  append(push.payload, sums.get(), plan.size() * kWidth);
  Frame dense = request_of(Op::dense_push, 0);
  append(dense.payload, &numbers, 1);
  append(dense.payload, gradients.data(), kDenseRows * kDenseColumns);
  return {std::move(lookup), request_of(Op::dense_pull, 0), std::move(push), std::move(dense)};
}

// Like train(), but sends recorded requests. At most 4 steps wait for replies at a time.
std::uint64_t replay(const Load& load, std::uint64_t trainer) {
  Network network;
  const ServerView view = view_of(load);
  ParameterClient client(network, {.view = [&] { return view; }, .security = kSecurity});
  declare(client);
  std::vector<float> gradients(kIds * kWidth);
  for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = bench::uniform(1, i) - 0.5F;
  std::vector<std::vector<Frame>> steps;
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    steps.push_back(requests_of(batch_of(trainer, i, load.rows, load.zipf), gradients));
  }
  Connection connection(
      network, {.address = address_of(load.servers[0]), .security = kSecurity, .depth = 16});
  const auto sender = static_cast<std::uint32_t>(trainer) + 200 + (load.zipf ? 100 : 0);
  const double warm = bench::now() + load.seconds, end = warm + load.seconds;
  std::uint64_t counted = 0;
  std::deque<std::vector<Pending>> in_flight;
  for (std::uint64_t step = 1; bench::now() < end; ++step) {
    std::vector<Pending>& pending = in_flight.emplace_back();
    for (Frame frame : steps[step % kBatches]) {
      const auto op = static_cast<Op>(frame.header.op);
      if (op == Op::push || op == Op::dense_push) {
        frame.header.sender = sender;
        frame.header.sequence = step;
      }
      pending.push_back(connection.send(std::move(frame), in(Milliseconds(10000))));
    }
    if (in_flight.size() < 4) continue;
    for (Pending& reply : in_flight.front()) {
      if (reply.get().header.code != Code::ok) return 0;
    }
    in_flight.pop_front();
    if (bench::now() > warm) ++counted;
  }
  return counted;
}

using Trainer = std::uint64_t (*)(const Load& load, std::uint64_t trainer);

void measure(const char* name, const Load& load, int trainers, Trainer run) {
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> steps(static_cast<std::size_t>(trainers));
  for (std::size_t i = 0; i < steps.size(); ++i)
    threads.emplace_back([&, i] { steps[i] = run(load, i); });
  ::usleep(static_cast<useconds_t>(load.seconds * 1e6));
  const double servers_before = cpu_seconds(load.servers), own_before = own_cpu_seconds();
  const double start = bench::now();
  for (std::thread& thread : threads) thread.join();
  const double seconds = bench::now() - start;
  const double server_cores = (cpu_seconds(load.servers) - servers_before) / seconds;
  std::uint64_t total = 0;
  for (const std::uint64_t count : steps) total += count;
  const double rate = static_cast<double>(total * kSamples) / load.seconds;
  std::cout << "{\"case\": \"ctr\", \"by\": \"" << name << "\", \"ids\": \""
            << (load.zipf ? "zipf" : "uniform") << "\", \"rows\": " << load.rows
            << ", \"trainers\": " << trainers << ", \"servers\": " << load.servers.size()
            << ", \"samples_per_s\": " << rate
            << ", \"trainer_cores\": " << (own_cpu_seconds() - own_before) / seconds
            << ", \"server_cores\": " << server_cores
            << ", \"samples_per_s_and_core\": " << rate / server_cores << "}" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 5;
  const int trainers = argc > 3 ? std::atoi(argv[3]) : 2;
  const int servers = argc > 4 ? std::atoi(argv[4]) : 1;
  if (rows < 1 || !(seconds > 0) || trainers < 1 || servers < 1 || argc > 5) {
    std::cerr << "usage: parameter_server [ROWS] [SECONDS] [TRAINERS] [SERVERS]\n";
    return 2;
  }
  const std::vector<Server> started = start_servers(servers);
  if (started.empty()) return 1;
  if (servers < all_cores()) pin_to(servers, all_cores());
  for (const bool zipf : {false, true}) {
    const Load load{started, rows, zipf, seconds};
    measure("trainers", load, trainers, train);
    if (servers == 1) measure("requests", load, trainers, replay);
  }
  for (const Server& server : started) ::kill(server.process, SIGKILL);
  for (const Server& server : started) ::waitpid(server.process, nullptr, 0);
}
