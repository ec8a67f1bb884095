// prefetch [SECONDS]: measures the effect of prefetching on a link with a delay. A relay between
// one trainer and one parameter server delays all bytes in both directions. Steps are those of an
// asynchronous CTR job: 512 samples of 26 ids, rows of 16 floats, a layer of 64. Runs with and
// without prefetching in turn. Prints one JSON line per delay.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>

#include "distributed/server/parameter_server.h"
#include "distributed/strategy/server_training.h"
#include "measuring.h"
#include "trireme/trireme.h"

namespace {

using namespace trireme;
using namespace trireme::distributed;

constexpr std::int64_t kSamples = 512, kFields = 26, kWidth = 16, kRows = 1'000'000;
const Security kSecurity = {.token = "benchmark"};

// --- The relay: a separate process with two threads per direction of a connection

struct Chunk {
  double due = 0;           // when to forward it, by bench::now()
  std::vector<char> bytes;  // empty: end of the stream
};

struct Pipe {
  std::mutex mutex;
  std::condition_variable filled;
  std::deque<Chunk> chunks;
};

void fill(Pipe& pipe, int from, double delay) {
  std::array<char, 1 << 16> buffer;
  for (ssize_t n = 1; n > 0;) {
    n = ::read(from, buffer.data(), buffer.size());
    const std::lock_guard lock(pipe.mutex);
    pipe.chunks.push_back(
        {bench::now() + delay, {buffer.data(), buffer.data() + std::max<ssize_t>(n, 0)}});
    pipe.filled.notify_one();
  }
}

void drain(Pipe& pipe, int to) {
  for (;;) {
    Chunk chunk;
    {
      std::unique_lock lock(pipe.mutex);
      pipe.filled.wait(lock, [&] { return !pipe.chunks.empty(); });
      chunk = std::move(pipe.chunks.front());
      pipe.chunks.pop_front();
    }
    const double early = chunk.due - bench::now();
    if (early > 0) std::this_thread::sleep_for(std::chrono::duration<double>(early));
    for (std::size_t written = 0; written < chunk.bytes.size();) {
      const ssize_t n = ::write(to, chunk.bytes.data() + written, chunk.bytes.size() - written);
      if (n <= 0) return;
      written += static_cast<std::size_t>(n);
    }
    if (chunk.bytes.empty()) {
      ::shutdown(to, SHUT_WR);
      return;
    }
  }
}

// Forwards bytes between two sockets until both directions end, then closes the sockets.
void relay(int client, int server, double delay) {
  Pipe requests, replies;
  std::thread a([&] { fill(requests, client, delay); }), b([&] { drain(requests, server); }),
      c([&] { fill(replies, server, delay); });
  drain(replies, client);
  for (std::thread* thread : {&a, &b, &c}) thread->join();
  ::close(client);
  ::close(server);
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

void disable_nagle(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

[[noreturn]] void serve_relay(int listener, int server, double delay) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  for (;;) {
    const int from = ::accept(listener, nullptr, nullptr);
    const int to = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(server);
    if (from < 0 || ::connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      std::abort();
    disable_nagle(from);
    disable_nagle(to);
    std::thread([=] { relay(from, to, delay); }).detach();
  }
}

struct Child {
  pid_t process = 0;
  int port = 0;
};

Child start_relay(int server, double delay) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener, 8) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  const Child child{::fork(), ntohs(address.sin_port)};
  if (child.process == 0) serve_relay(listener, server, delay);
  ::close(listener);
  return child;
}

Child start_server() {
  int pipe[2];
  if (::pipe(pipe) != 0) std::abort();
  Child child{::fork(), 0};
  if (child.process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ParameterServerOptions options;
    options.transport.security = kSecurity;
    options.transport.threads = 1;
    ParameterServer server(options);
    server.shard().set_map(SlotMap::balanced(1), 1);
    const int port = server.port();
    if (::write(pipe[1], &port, sizeof port) != sizeof port) std::abort();
    while (true) ::pause();
  }
  if (::read(pipe[0], &child.port, sizeof child.port) != sizeof child.port) std::abort();
  return child;
}

// --- The trainer

struct Model {
  Program program{"ctr"};
  Value ids = program.input("ids", i64, {batch, kFields});
  Value click = program.input("click", f32, {batch, 1});
  Value loss;

  Model() {
    nn::EmbeddingOptions options{.num_embeddings = kRows, .dim = kWidth};
    options.sparse_gradient = true;
    const Value x = reshape(nn::embedding(ids, options), {.shape = {batch, kFields * kWidth}});
    loss = mean(nn::binary_cross_entropy_with_logits(
        nn::linear(nn::linear(x, {.units = 64, .activation = nn::relu}), {.units = 1}), click));
  }
};

std::vector<data::Batch> made_batches() {
  std::vector<data::Batch> batches;
  for (std::uint64_t i = 0; i < 32; ++i) {
    const auto id = [](float u) {
      return static_cast<std::int64_t>(std::pow(static_cast<double>(kRows), u)) - 1;
    };
    batches.push_back({{"ids", bench::made_up<std::int64_t>({kSamples, kFields}, 2 * i + 1, id)},
                       {"click", bench::made_up<float>({kSamples, 1}, 2 * i + 2,
                                                       [](float u) { return u < 0.3F; })}});
  }
  return batches;
}

struct Rates {
  std::vector<double> plain, prefetched;  // steps per second in each round
};

Rates train(int port, double seconds) {
  Network network;
  ServerView view{SlotMap::balanced(1), {"127.0.0.1:" + std::to_string(port)}};
  ParameterClient client(network,
                         {.view = [&] { return view; }, .security = kSecurity, .sender = 1});
  Model model;
  ServerTrainingOptions how;
  ServerTraining training(client, how, model.program);
  TrainerOptions options = {.loss = model.loss, .optimizer = Adagrad{}, .session = {.threads = 1}};
  training.extend(options);
  Trainer trainer(model.program, options);
  training.start(trainer);
  const std::vector<data::Batch> batches = made_batches();
  Rates rates;
  std::size_t next = 0;
  for (int round = -1; round < 5; ++round) {  // round -1 is warm-up
    for (const bool prefetch : {false, true}) {
      const double start = bench::now();
      int steps = 0;
      for (; bench::now() - start < seconds; ++steps, ++next) {
        if (prefetch) training.prefetch(batches[(next + 1) % batches.size()], 1);
        training.step(batches[next % batches.size()]);
      }
      training.settle();
      const double rate = steps / (bench::now() - start);
      if (round >= 0) (prefetch ? rates.prefetched : rates.plain).push_back(rate);
    }
  }
  return rates;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Measures one delay in a child process, because gRPC does not survive a fork.
void measure(double milliseconds, double seconds) {
  const pid_t process = ::fork();
  if (process != 0) {
    ::waitpid(process, nullptr, 0);
    return;
  }
  const Child server = start_server();
  const Child relay = start_relay(server.port, milliseconds * 1e-3);
  const Rates rates = train(relay.port, seconds);
  const double plain = median(rates.plain), prefetched = median(rates.prefetched);
  std::cout << "{\"one_way_ms\": " << milliseconds << ", \"steps_per_s\": " << plain
            << ", \"with_prefetch\": " << prefetched << ", \"faster_by\": " << prefetched / plain
            << "}" << std::endl;
  for (const Child& child : {relay, server}) {
    ::kill(child.process, SIGKILL);
    ::waitpid(child.process, nullptr, 0);
  }
  ::_exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  if (argc > 2 || !(seconds > 0)) {
    std::cerr << "usage: prefetch [SECONDS]\n";
    return 2;
  }
  for (const double delay : {0.0, 1.0, 5.0, 20.0}) measure(delay, seconds);
}
