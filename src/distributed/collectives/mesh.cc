#include "distributed/collectives/mesh.h"

#include <fmt/core.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <net/if.h>
#include <signal.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"
#include "distributed/collectives/endpoint.h"
#include "distributed/collectives/prompt.h"
#include "distributed/collectives/ring_link.h"

namespace trireme::distributed {
namespace {

using gloo::transport::UnboundBuffer;

// Slots that operations do not use.
constexpr std::uint64_t kGoodbye = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kHello = kGoodbye - 1;
constexpr std::uint64_t kProbe = kGoodbye - 2;
constexpr std::uint64_t kAddress = kGoodbye - 3;
constexpr auto kForever = std::chrono::hours(24 * 365);
constexpr Milliseconds kGoodbyeTime{200};
constexpr std::size_t kLongestAddress = 64;  // bytes of an address with its port and a zero

// Gloo writes to connections that the other side has closed, which would end the process. While
// this exists, this thread gets no SIGPIPE, and threads that it starts never get one.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigemptyset(&pending);
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec none{};
    if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &none);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

// The text of an exception that Gloo threw. Gloo's own thread may have thrown it and a call of ours
// rethrown it, which ThreadSanitizer takes for a race: tests/tsan.supp names this function.
[[gnu::noinline]] std::string reason_of(const std::exception& error) { return error.what(); }

// The four functions that Gloo calls on a store.
class GlooStore : public gloo::rendezvous::Store {
 public:
  explicit GlooStore(Rendezvous& rendezvous) : rendezvous_(rendezvous) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    rendezvous_.publish(key, std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = rendezvous_.fetch(key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) rendezvous_.fetch(key);
  }
  void wait(const std::vector<std::string>& keys, const Milliseconds&) override { wait(keys); }

 private:
  Rendezvous& rendezvous_;
};

Milliseconds left_until(Mesh::Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<Milliseconds>(deadline - Mesh::Clock::now());
  return std::max(left, Milliseconds(1));
}

[[noreturn]] void fail_late() {
  fail_io(
      "no answer in time: a member is stopped or too slow, or calls another operation or another "
      "size");
}

// Refuses what would crash Gloo or leak memory in it: a name that does not resolve, and an address
// of another machine.
void check_address(const std::string& address) {
  if (Listener("", address).address() == "-") {
    fail_usage(fmt::format("\"{}\" is no IP address of this machine", address));
  }
}

std::shared_ptr<gloo::transport::Device> make_device(const MeshOptions& options) {
  gloo::transport::tcp::attr attributes;
  if (!options.interface.empty()) {
    if (::if_nametoindex(options.interface.c_str()) == 0) {
      fail_usage(fmt::format("there is no network interface \"{}\"", options.interface));
    }
    attributes.iface = options.interface;
  } else {
    check_address(options.address);
    attributes.hostname = options.address;
  }
  try {
    const Prompt prompt;  // for the thread that the device starts
    return gloo::transport::tcp::CreateDevice(attributes);
  } catch (const std::exception& error) {
    fail_usage(fmt::format("all-reduce cannot listen at {}{}: {}", options.interface,
                           options.interface.empty() ? options.address : "", reason_of(error)));
  }
}

}  // namespace

struct Mesh::State {
  // Each member announces at its end how many operations it finished. Outlives the device, whose
  // thread writes it.
  std::vector<std::uint64_t> heard;

  std::shared_ptr<gloo::transport::Device> device;
  std::shared_ptr<gloo::rendezvous::Context> context;
  std::optional<RingLink> link;
  std::uint64_t ring_told = 0, ring_heard = 0;  // the newest operation on it

  mutable std::mutex mutex;
  std::set<UnboundBuffer*> buffers;  // that threads may wait for
  std::string failure;
  std::uint64_t operations = 0;  // started by this member
  int departed = -1;             // the member that left after the fewest operations; -1: none
  std::uint64_t last = 0;        // and the number of these operations

  std::unique_ptr<UnboundBuffer> goodbyes;  // waits for announcements as long as the mesh exists
  std::thread listener;
};

struct Mesh::Buffer::State {
  std::unique_ptr<UnboundBuffer> buffer;
};

Mesh::Buffer::Buffer(Mesh& mesh, void* data, std::size_t bytes)
    : state_(std::make_unique<State>()), mesh_(mesh) {
  state_->buffer = mesh_.state_->context->createUnboundBuffer(data, bytes);
  const std::lock_guard lock(mesh_.state_->mutex);
  if (!mesh_.state_->failure.empty()) fail_io(mesh_.state_->failure);
  mesh_.state_->buffers.insert(state_->buffer.get());
}

Mesh::Buffer::~Buffer() {
  const std::lock_guard lock(mesh_.state_->mutex);
  mesh_.state_->buffers.erase(state_->buffer.get());
}

// Runs work(); its errors name the failed member.
template <class Work>
void Mesh::explained(const Work& work) {
  const NoBrokenPipe guard;
  try {
    work();
  } catch (const std::exception& error) {
    fail_io(fmt::format("{}: {}", lost(), reason_of(error)));
  }
}

// As explained(), but Gloo ends all connections when a wait times out, so the other members have
// not failed then.
template <class Work>
void Mesh::wait(Clock::time_point deadline, const Work& work) {
  bool through = false;
  try {
    through = work(left_until(deadline));
  } catch (const std::exception& error) {
    if (Clock::now() < deadline) fail_io(fmt::format("{}: {}", lost(), reason_of(error)));
    fail_late();
  }
  if (!through) fail_io(failure());
}

void Mesh::Buffer::send(int to, std::uint64_t slot, std::size_t offset, std::size_t bytes) {
  mesh_.explained([&] { state_->buffer->send(to, slot, offset, bytes); });
}

void Mesh::Buffer::receive(int from, std::uint64_t slot, std::size_t offset, std::size_t bytes) {
  mesh_.explained([&] { state_->buffer->recv(from, slot, offset, bytes); });
}

void Mesh::Buffer::wait_received(Clock::time_point deadline) {
  mesh_.wait(deadline,
             [&](Milliseconds timeout) { return state_->buffer->waitRecv(nullptr, timeout); });
}

void Mesh::Buffer::wait_sent(Clock::time_point deadline) {
  mesh_.wait(deadline,
             [&](Milliseconds timeout) { return state_->buffer->waitSend(nullptr, timeout); });
}

Mesh::Mesh(Rendezvous& rendezvous, int rank, int size, const MeshOptions& options)
    : rank_(rank), size_(size), on_broken_(options.on_broken), state_(std::make_unique<State>()) {
  const NoBrokenPipe guard;  // also for the thread of the device
  state_->device = make_device(options);
  state_->context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  // Gloo waits five times as long for a connection.
  state_->context->setTimeout(std::max(left_until(rendezvous.deadline()) / 5, Milliseconds(1)));
  GlooStore store(rendezvous);
  try {
    state_->context->connectFullMesh(store, state_->device);
    constexpr std::size_t kBytes = sizeof(std::uint64_t);
    state_->heard.resize(static_cast<std::size_t>(size_));
    state_->goodbyes =
        state_->context->createUnboundBuffer(state_->heard.data(), state_->heard.size() * kBytes);
    for (int other = 0; other < size_; ++other) {
      if (other == rank_) continue;
      state_->goodbyes->recv(other, kGoodbye, static_cast<std::size_t>(other) * kBytes, kBytes);
    }
    greet(rendezvous, options);
    link(options, rendezvous);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail_io(reason_of(error));
  }
  state_->buffers.insert(state_->goodbyes.get());
  state_->listener = std::thread([this] { listen(); });
}

// All members exchange a secret of the group, because another process may have taken a port
// meanwhile.
void Mesh::greet(Rendezvous& rendezvous, const MeshOptions& options) {
  const std::string token = rendezvous.token();
  const auto ranks = static_cast<std::size_t>(size_);
  std::string told(token.size() * ranks, '\0');
  for (std::size_t i = 0; i < ranks; ++i) token.copy(told.data() + i * token.size(), token.size());
  std::string heard = told;
  Buffer out(*this, told.data(), told.size()), in(*this, heard.data(), heard.size());
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    const std::size_t offset = static_cast<std::size_t>(other) * token.size();
    in.receive(other, kHello, offset, token.size());
    out.send(other, kHello, offset, token.size());
  }
  for (int i = 0; i + 1 < size_; ++i) in.wait_received(rendezvous.deadline());
  for (int i = 0; i + 1 < size_; ++i) out.wait_sent(rendezvous.deadline());
  if (heard == told) return;
  if (options.on_unauthenticated_peer) options.on_unauthenticated_peer();
  fail_io("an unauthenticated peer answered at the address of a member");
}

// Each member sends its listening address to the previous one.
void Mesh::link(const MeshOptions& options, Rendezvous& rendezvous) {
  state_->link.emplace(options.interface, options.address, options.on_unauthenticated_peer);
  char own[kLongestAddress] = {}, next[kLongestAddress] = {};
  state_->link->address().copy(own, kLongestAddress - 1);
  Buffer out(*this, own, sizeof own), in(*this, next, sizeof next);
  in.receive((rank_ + 1) % size_, kAddress, 0, sizeof next);
  out.send((rank_ + size_ - 1) % size_, kAddress, 0, sizeof own);
  in.wait_received(rendezvous.deadline());
  out.wait_sent(rendezvous.deadline());
  next[kLongestAddress - 1] = '\0';
  state_->link->connect(next, rendezvous.token(), rendezvous.deadline());
}

// As wait(), but a connection of the ring may have been closed by a member that lost another one.
template <class Work>
void Mesh::on_link(Clock::time_point deadline, const Work& work) {
  try {
    work(*state_->link);
  } catch (const Error& error) {
    const std::string known = failure();
    if (!known.empty()) fail_io(known);
    if (Clock::now() >= deadline) fail_late();
    fail_io(fmt::format("{}: {}", lost(), error.what()));
  }
}

void Mesh::begin_ring(std::uint64_t operation, Clock::time_point deadline) {
  on_link(deadline, [&](RingLink& link) {
    state_->ring_told = operation;
    link.send(&state_->ring_told, sizeof operation);
    link.receive(&state_->ring_heard, sizeof operation, deadline);
  });
  if (state_->ring_heard != operation) {
    fail_io(fmt::format("rank {} calls another operation or another size",
                        (rank_ + size_ - 1) % size_));
  }
}

void Mesh::send_on(const void* data, std::size_t bytes) { state_->link->send(data, bytes); }

void Mesh::receive_behind(void* data, std::size_t bytes, Clock::time_point deadline) {
  on_link(deadline, [&](RingLink& link) { link.receive(data, bytes, deadline); });
}

void Mesh::flush(Clock::time_point deadline) {
  on_link(deadline, [&](RingLink& link) { link.flush(deadline); });
}

Mesh::~Mesh() {
  if (state_->listener.joinable()) {
    state_->goodbyes->abortWaitRecv();
    state_->listener.join();
  }
  if (failure().empty()) say_goodbye();
}

void Mesh::say_goodbye() {
  try {
    const auto deadline = Clock::now() + kGoodbyeTime;
    std::uint64_t done = state_->operations;
    Buffer out(*this, &done, sizeof done);
    for (int other = 0; other < size_; ++other) {
      if (other != rank_) out.send(other, kGoodbye, 0, sizeof done);
    }
    for (int i = 0; i + 1 < size_; ++i) out.wait_sent(deadline);
  } catch (const std::exception&) {  // the others see that the connection ends
  }
}

// The wait that ends when any connection ends.
void Mesh::listen() {
  for (;;) {
    try {
      int from = -1;
      if (!state_->goodbyes->waitRecv(&from, kForever)) return;
      hear_goodbye(from);
    } catch (const std::exception& error) {
      return fail(fmt::format("{}: {}", lost(), reason_of(error)));
    }
  }
}

// The others can finish the operations that the leaving member finished, but no later ones.
void Mesh::hear_goodbye(int from) {
  {
    const std::lock_guard lock(state_->mutex);
    const std::uint64_t done = state_->heard[static_cast<std::size_t>(from)];
    if (state_->departed < 0 || done < state_->last) {
      state_->departed = from;
      state_->last = done;
    }
    if (state_->operations <= done) return;
  }
  fail(fmt::format("rank {} has left", from));
}

std::uint64_t Mesh::begin_operation() {
  const std::lock_guard lock(state_->mutex);
  if (!state_->failure.empty()) fail_io(state_->failure);
  ++state_->operations;
  if (state_->departed >= 0 && state_->operations > state_->last) {
    fail_io(fmt::format("rank {} has left", state_->departed));
  }
  return state_->operations;
}

// Names the members whose connections ended: "rank 2 is gone".
std::string Mesh::lost() const {
  std::string ranks;
  int count = 0;
  const NoBrokenPipe guard;
  char nothing = 0;
  const auto probe = state_->context->createUnboundBuffer(&nothing, 1);
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    try {
      probe->send(other, kProbe, 0, 1);
    } catch (const std::exception&) {
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", other);
      ++count;
    }
  }
  if (count == 0) return "a member is gone";
  return count == 1 ? fmt::format("rank {} is gone", ranks)
                    : fmt::format("ranks {} are gone", ranks);
}

void Mesh::fail(const std::string& reason) {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->failure.empty()) return;
    state_->failure = reason.empty() ? "broken" : reason;
    for (UnboundBuffer* buffer : state_->buffers) {
      buffer->abortWaitRecv();
      buffer->abortWaitSend();
    }
  }
  if (state_->link) state_->link->close();
  state_->context->closeConnections();
  if (on_broken_) on_broken_();
}

std::string Mesh::failure() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failure;
}

}  // namespace trireme::distributed
