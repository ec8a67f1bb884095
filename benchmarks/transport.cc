// Measures frames between two processes on loopback, as between a trainer and a server: messages
// and gigabytes per second for sizes from 4 KiB to 4 MiB. Prints one JSON line per case.
//   transport [SECONDS]

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <deque>
#include <iostream>

#include "distributed/transport/connection.h"
#include "distributed/transport/frame_server.h"
#include "measuring.h"

namespace {

using namespace trireme::distributed;

const Security kSecurity = {.token = "benchmark"};

// Replies to a push with an empty frame, and to a pull with the requested number of bytes.
[[noreturn]] void serve(int to) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  FrameServer server({.security = kSecurity, .threads = 1},
                     [](const Peer&, Frame request, Answer& answer) {
                       Frame reply;
                       if (request.header.op == 2) reply.payload.extend<char>(request.header.count);
                       answer(std::move(reply));
                     });
  const int port = server.port();
  if (::write(to, &port, sizeof port) != sizeof port) std::abort();
  while (true) ::pause();
}

void measure(int port, bool push, std::size_t size, int depth, double seconds) {
  Network network;
  Connection connection(network, {.address = "127.0.0.1:" + std::to_string(port),
                                  .security = kSecurity,
                                  .depth = depth,
                                  .bytes = std::size_t{1} << 30});
  Payload payload;
  if (push) payload.extend<char>(size);
  std::deque<Pending> pending;
  std::size_t done = 0;
  const auto wait_for_oldest = [&] {
    pending.front().get();
    pending.pop_front();
    ++done;
  };
  double start = bench::now();
  const double warm = start + seconds / 4, end = warm + seconds;
  bool is_warm = false;
  for (double now = start; now < end; now = bench::now()) {
    if (!is_warm && now > warm) {
      is_warm = true;
      start = now;
      done = 0;
    }
    if (pending.size() == static_cast<std::size_t>(depth)) wait_for_oldest();
    Frame frame;
    frame.header.op = push ? 1 : 2;
    frame.header.count = static_cast<std::uint32_t>(size);
    if (push) frame.payload = payload;
    pending.push_back(connection.send(std::move(frame), in(Milliseconds(60000))));
  }
  const double rate = static_cast<double>(done) / (bench::now() - start);
  while (!pending.empty()) wait_for_oldest();
  std::cout << "{\"case\": \"" << (push ? "push" : "pull") << "\", \"bytes\": " << size
            << ", \"depth\": " << depth << ", \"messages_per_s\": " << rate
            << ", \"gb_per_s\": " << rate * static_cast<double>(size) / 1e9 << "}" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  if (!(seconds > 0) || argc > 2) {
    std::cerr << "usage: transport [SECONDS]\n";
    return 2;
  }
  int pipe[2];
  if (::pipe(pipe) != 0) return 1;
  const pid_t server = ::fork();  // before gRPC has threads
  if (server == 0) serve(pipe[1]);
  int port = 0;
  if (server < 0 || ::read(pipe[0], &port, sizeof port) != sizeof port) return 1;
  for (const bool push : {true, false}) {
    for (const int depth : {1, 8}) {
      for (const std::size_t size : {std::size_t{4} << 10, std::size_t{64} << 10,
                                     std::size_t{1} << 20, std::size_t{4} << 20}) {
        measure(port, push, size, depth, seconds);
      }
    }
  }
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
}
