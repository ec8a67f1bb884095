// prefetch [SECONDS]: what looking ahead is worth on a link with a delay. One trainer, one parameter server, and between them a relay
// that holds back all bytes for a while in both directions; the steps are of an asynchronous CTR job: 512 samples with 26 ids
// each, rows of 16 floats, a layer of 64. With and without prefetching in turn. One JSON line per delay.

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

// --- The relay: a process of its own, with two threads for each direction of a connection.

struct Chunk {
  double due = 0;
  std::vector<char> bytes;  // none: the end
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
    for (std::size_t done = 0; done < chunk.bytes.size();) {
      const ssize_t n = ::write(to, chunk.bytes.data() + done, chunk.bytes.size() - done);
      if (n <= 0) return;
      done += static_cast<std::size_t>(n);
    }
    if (chunk.bytes.empty()) {
      ::shutdown(to, SHUT_WR);
      return;
    }
  }
}

void relay(int one, int other, double delay) {
  Pipe there, back;
  std::thread a([&] { fill(there, one, delay); }), b([&] { drain(there, other); }),
      c([&] { fill(back, other, delay); });
  drain(back, one);
  for (std::thread* each : {&a, &b, &c}) each->join();
  ::close(one);
  ::close(other);
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

void send_at_once(int socket) {
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
    send_at_once(from);
    send_at_once(to);
    std::thread([=] { relay(from, to, delay); }).detach();
  }
}

struct Started {
  pid_t process = 0;
  int port = 0;
};

Started start_relay(int server, double delay) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener, 8) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  const Started started{::fork(), ntohs(address.sin_port)};
  if (started.process == 0) serve_relay(listener, server, delay);
  ::close(listener);
  return started;
}

Started start_server() {
  int pipe[2];
  if (::pipe(pipe) != 0) std::abort();
  Started started{::fork(), 0};
  if (started.process == 0) {
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
  if (::read(pipe[0], &started.port, sizeof started.port) != sizeof started.port) std::abort();
  return started;
}

// --- The trainer

struct Model {
  Program program{"ctr"};
  Value ids = program.input("ids", i64, {batch, kFields});
  Value click = program.input("click", f32, {batch, 1});
  Value loss;

  Model() {
    nn::EmbeddingOptions options{.rows = kRows, .width = kWidth};
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

struct Trained {
  std::vector<double> alone, ahead;  // steps per second, by round
};

Trained train(int port, double seconds) {
  Network network;
  ServerView view{SlotMap::balanced(1), {"127.0.0.1:" + std::to_string(port)}};
  ParameterClient client(network,
                         {.view = [&] { return view; }, .security = kSecurity, .sender = 1});
  Model model;
  ServerTrainingOptions how;
  ServerTraining training(client, how, model.program);
  TrainerOptions options = {.loss = model.loss, .optimizer = Adagrad{}, .threads = 1};
  training.extend(options);
  Trainer trainer(model.program, options);
  training.start(trainer);
  const std::vector<data::Batch> batches = made_batches();
  Trained trained;
  std::size_t at = 0;
  for (int round = -1; round < 5; ++round) {  // one to warm up
    for (const bool ahead : {false, true}) {
      const double start = bench::now();
      int steps = 0;
      for (; bench::now() - start < seconds; ++steps, ++at) {
        if (ahead) training.prefetch(batches[(at + 1) % batches.size()], 1);
        training.step(batches[at % batches.size()]);
      }
      training.settle();
      const double rate = steps / (bench::now() - start);
      if (round >= 0) (ahead ? trained.ahead : trained.alone).push_back(rate);
    }
  }
  return trained;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// In a process of its own, as gRPC does not survive a fork.
void measure(double milliseconds, double seconds) {
  const pid_t process = ::fork();
  if (process != 0) {
    ::waitpid(process, nullptr, 0);
    return;
  }
  const Started server = start_server();
  const Started relay = start_relay(server.port, milliseconds * 1e-3);
  const Trained trained = train(relay.port, seconds);
  const double alone = median(trained.alone), ahead = median(trained.ahead);
  std::cout << "{\"one_way_ms\": " << milliseconds << ", \"steps_per_s\": " << alone
            << ", \"with_prefetch\": " << ahead << ", \"faster_by\": " << ahead / alone << "}"
            << std::endl;
  for (const Started& each : {relay, server}) {
    ::kill(each.process, SIGKILL);
    ::waitpid(each.process, nullptr, 0);
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
