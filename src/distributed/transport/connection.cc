#include "distributed/transport/connection.h"

#include <fmt/core.h>
#include <grpcpp/generic/generic_stub.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "distributed/coordination/credentials.h"
#include "distributed/transport/grpc_frame.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Milliseconds kTick{20};  // how soon what has expired is put away, and streams are opened
constexpr Milliseconds kAgain{100}, kRefusedAgain{1000};  // from the end of a stream to the next

bool is_refusal(const grpc::Status& status) {
  const grpc::StatusCode code = status.error_code();
  return code == grpc::StatusCode::UNAUTHENTICATED || code == grpc::StatusCode::PERMISSION_DENIED ||
         code == grpc::StatusCode::UNIMPLEMENTED;
}

std::string reason_of(const grpc::Status& status) {
  if (!status.error_message().empty()) return status.error_message();
  return status.error_code() == grpc::StatusCode::UNIMPLEMENTED ? "another service listens there"
                                                                : "the stream has ended";
}

}  // namespace

struct Pending::State {
  explicit State(Deadline d, std::string a) : deadline(d), address(std::move(a)) {}

  void complete(Frame frame) {
    end([&] { answer = std::move(frame); });
  }
  void fail(const std::string& text) {
    end([&] { error = text; });
  }
  bool has_ended() {
    const std::lock_guard lock(mutex);
    return ended;
  }
  bool wait(Deadline until) {
    std::unique_lock lock(mutex);
    return changed.wait_until(lock, std::min(until, deadline), [this] { return ended; }) ||
           Clock::now() >= deadline;
  }

  const Deadline deadline;
  const std::string address;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  Frame answer;
  std::string error;

 private:
  template <class Change>
  void end(const Change& change) {
    {
      const std::lock_guard lock(mutex);
      if (ended) return;
      change();
      ended = true;
    }
    changed.notify_all();
  }
};

bool Pending::ready() const { return state_ == nullptr || state_->has_ended(); }
bool Pending::wait(Deadline until) const { return state_ == nullptr || state_->wait(until); }

Frame Pending::get() {
  if (state_ == nullptr) fail_internal("an answer is read twice");
  const auto state = std::exchange(state_, nullptr);
  std::unique_lock lock(state->mutex);
  if (!state->changed.wait_until(lock, state->deadline, [&] { return state->ended; })) {
    throw Unavailable(fmt::format("{}: no answer in time", state->address));
  }
  if (!state->error.empty()) {
    throw Unavailable(fmt::format("{}: {}", state->address, state->error));
  }
  return std::move(state->answer);
}

// One stream. Guarded by the connection's mutex; made and unmade by the network's thread.
struct Attempt {
  Attempt(Connection::State& connection);

  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call;
  int operations = 0;
  bool open = false, writing = false, ended = false;
  std::string why;  // we ended it
  std::uint32_t requests = 0;
  grpc::ByteBuffer message;
  grpc::Status status;
  Tag started, read, written, finished;
};

struct Connection::State {
  struct Request {
    std::shared_ptr<Pending::State> pending;
    std::size_t bytes = 0;
  };

  State(Network::State& n, const ConnectionOptions& o);
  void close();

  Pending send(Frame frame, Deadline deadline, Deadline space_until);

  // By the network's thread:
  void tick(Clock::time_point now);
  void started(bool ok);
  void read_done(bool ok);
  void written(bool ok);
  void finished();

  // With the lock held:
  void open_stream();
  bool room(std::size_t bytes) const {
    return waiting.size() + sent.size() < static_cast<std::size_t>(options.depth) &&
           (bytes_under_way == 0 || bytes_under_way + bytes <= options.bytes);
  }
  void read_on();
  void write_on();
  bool take();
  void finish();
  void settle(Clock::time_point now);
  void drop(const Request& request) {
    bytes_under_way -= request.bytes;
    space.notify_all();
  }

  Network::State& network;
  const ConnectionOptions options;
  const std::shared_ptr<grpc::Channel> channel;
  grpc::GenericStub stub;

  std::mutex mutex;
  std::condition_variable space;   // for another request
  std::condition_variable closed;  // the last attempt is gone
  bool closing = false;
  bool refused = false;  // the last attempt was: until the next, requests fail without waiting
  std::string last_error;
  std::unique_ptr<Attempt> attempt;
  Clock::time_point next_attempt;
  struct Waiting {
    Frame frame;
    std::uint32_t sum;  // checksum_of(frame.payload)
    Request request;
  };
  std::deque<Waiting> waiting;            // to be written
  std::map<std::uint32_t, Request> sent;  // on this stream
  std::size_t bytes_under_way = 0;
  ConnectionStatistics statistics;
};

// --- The network

struct Network::State {
  State() : thread([this] { run(); }) {}
  ~State() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    thread.join();
    queue.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
    }
  }

  // Always waits at the queue: a channel that no thread polls does not reconnect.
  void run() {
    auto next_tick = Clock::now();
    while (true) {
      const auto now = Clock::now();
      if (now >= next_tick) {
        next_tick = now + kTick;
        const std::lock_guard lock(mutex);
        if (stop) return;
        for (Connection::State* connection : connections) connection->tick(now);
      }
      void* tag = nullptr;
      bool ok = false;
      const auto until = std::chrono::system_clock::now() + (next_tick - now);
      if (queue.AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::GOT_EVENT) {
        run_tag(tag, ok);
      }
    }
  }
  void add(Connection::State* connection) {
    const std::lock_guard lock(mutex);
    connections.insert(connection);
  }
  void remove(Connection::State* connection) {
    const std::lock_guard lock(mutex);
    connections.erase(connection);
  }

  grpc::CompletionQueue queue;
  std::mutex mutex;
  bool stop = false;
  std::set<Connection::State*> connections;
  std::thread thread;
};

Network::Network() : state_(std::make_unique<State>()) {}
Network::~Network() = default;

// --- A stream

Attempt::Attempt(Connection::State& connection)
    : started{[&connection](bool ok) { connection.started(ok); }},
      read{[&connection](bool ok) { connection.read_done(ok); }},
      written{[&connection](bool ok) { connection.written(ok); }},
      finished{[&connection](bool) { connection.finished(); }} {}

namespace {

std::shared_ptr<grpc::Channel> stream_channel(const ConnectionOptions& options) {
  check_security(options.address, options.security);
  grpc::ChannelArguments arguments;
  set_stream_arguments([&](const char* name, int value) { arguments.SetInt(name, value); },
                       options.largest_frame);
  return secure_channel(options.address, options.security, arguments);
}

}  // namespace

Connection::State::State(Network::State& n, const ConnectionOptions& o)
    : network(n),
      options(o),
      channel(stream_channel(o)),
      stub(channel),
      next_attempt(Clock::now()) {
  network.add(this);
}

void Connection::State::close() {
  {
    std::unique_lock lock(mutex);
    closing = true;
    if (attempt != nullptr) attempt->context.TryCancel();
    closed.wait(lock, [this] { return attempt == nullptr; });
  }
  network.remove(this);
  const std::lock_guard lock(mutex);
  for (const Waiting& each : waiting) each.request.pending->fail("the connection was closed");
}

void Connection::State::open_stream() {
  attempt = std::make_unique<Attempt>(*this);
  attempt->context.set_wait_for_ready(true);
  add_token(attempt->context, options.security);
  attempt->call = stub.PrepareCall(&attempt->context, method_of(options.service), &network.queue);
  ++attempt->operations;
  attempt->call->StartCall(&attempt->started);
}

void Connection::State::started(bool ok) {
  const std::lock_guard lock(mutex);
  --attempt->operations;
  if (ok && !attempt->ended) {
    attempt->open = true;
    ++statistics.streams;
    read_on();
    write_on();
  } else {
    finish();
  }
  settle(Clock::now());
}

void Connection::State::read_on() {
  ++attempt->operations;
  attempt->call->Read(&attempt->message, &attempt->read);
}

void Connection::State::read_done(bool ok) {
  const std::lock_guard lock(mutex);
  --attempt->operations;
  if (ok && !attempt->ended && take()) {
    read_on();
  } else {
    finish();
  }
  settle(Clock::now());
}

// Whether the stream goes on.
bool Connection::State::take() {
  Arrived arrived;
  const std::size_t bytes = attempt->message.Length();
  try {
    arrived = from_message(attempt->message, options.largest_frame);
    if (!arrived.intact()) fail_data("the checksum of an answer does not fit");
    const std::uint32_t number = arrived.frame.header.request;
    if (number == 0 || number > attempt->requests) fail_data("an answer to no request");
  } catch (const Error& error) {
    ++statistics.malformed;
    attempt->why = error.what();
    attempt->context.TryCancel();
    return false;
  }
  ++statistics.answers;
  statistics.bytes_in += bytes;
  const auto found = sent.find(arrived.frame.header.request);
  if (found == sent.end()) {
    ++statistics.late;
    return true;
  }
  const Request request = std::move(found->second);
  sent.erase(found);
  drop(request);
  refused = false;
  request.pending->complete(std::move(arrived.frame));
  return true;
}

void Connection::State::write_on() {
  if (attempt == nullptr || !attempt->open || attempt->ended || attempt->writing ||
      waiting.empty()) {
    return;
  }
  Waiting next = std::move(waiting.front());
  waiting.pop_front();
  next.frame.header.request = ++attempt->requests;
  const grpc::ByteBuffer message = to_message(next.frame, next.sum);
  sent.emplace(attempt->requests, std::move(next.request));
  ++statistics.requests;
  statistics.bytes_out += message.Length();
  attempt->writing = true;
  ++attempt->operations;
  grpc::WriteOptions write;
  if (!waiting.empty()) write.set_buffer_hint();
  attempt->call->Write(message, write, &attempt->written);
}

void Connection::State::written(bool ok) {
  const std::lock_guard lock(mutex);
  --attempt->operations;
  attempt->writing = false;
  if (ok) {
    write_on();
  } else {
    finish();
  }
  settle(Clock::now());
}

void Connection::State::finish() {
  if (std::exchange(attempt->ended, true)) return;
  ++attempt->operations;
  attempt->call->Finish(&attempt->status, &attempt->finished);
}

void Connection::State::finished() {
  const std::lock_guard lock(mutex);
  --attempt->operations;
  settle(Clock::now());
}

// When nothing of the stream is under way any more, it is over.
void Connection::State::settle(Clock::time_point now) {
  if (!attempt->ended || attempt->operations > 0) return;
  refused = is_refusal(attempt->status);
  last_error = !attempt->why.empty() ? attempt->why : reason_of(attempt->status);
  for (const auto& [number, request] : sent) {
    ++statistics.broken;
    request.pending->fail(last_error);
    drop(request);
  }
  sent.clear();
  if (refused) {
    for (const Waiting& each : waiting) {
      each.request.pending->fail(last_error);
      drop(each.request);
    }
    waiting.clear();
  }
  attempt.reset();
  next_attempt = now + (refused ? kRefusedAgain : kAgain);
  closed.notify_all();
}

void Connection::State::tick(Clock::time_point now) {
  const std::lock_guard lock(mutex);
  const auto expired = [&](const Request& request) {
    if (request.pending->deadline > now) return false;
    ++statistics.expired;
    request.pending->fail("no answer in time");
    drop(request);
    return true;
  };
  std::erase_if(sent, [&](const auto& each) { return expired(each.second); });
  std::erase_if(waiting, [&](const Waiting& each) { return expired(each.request); });
  if (attempt == nullptr && !closing && now >= next_attempt) open_stream();
}

Pending Connection::State::send(Frame frame, Deadline deadline, Deadline space_until) {
  const std::size_t bytes = frame.payload.size() + kHeaderBytes;
  if (bytes > options.largest_frame) {
    fail_usage(fmt::format("a frame of {} bytes, of which at most {} are taken: ask in parts",
                           bytes, options.largest_frame));
  }
  auto pending = std::make_shared<Pending::State>(deadline, options.address);
  const std::uint32_t sum = checksum_of(frame.payload);
  std::unique_lock lock(mutex);
  if (!space.wait_until(lock, space_until, [&] { return room(bytes); })) {
    throw Unavailable(fmt::format("{}: {} requests had no answer in time", options.address,
                                  waiting.size() + sent.size()));
  }
  if (refused && attempt == nullptr) {
    pending->fail(last_error);
    return Pending(std::move(pending));
  }
  bytes_under_way += bytes;
  waiting.push_back({std::move(frame), sum, {pending, bytes}});
  write_on();
  return Pending(std::move(pending));
}

// --- A connection

Connection::Connection(Network& network, const ConnectionOptions& options)
    : state_(std::make_unique<State>(*network.state_, options)) {}
Connection::~Connection() { state_->close(); }

Pending Connection::send(Frame frame, Deadline deadline, Deadline space) {
  return state_->send(std::move(frame), deadline, space);
}
bool Connection::open() const {
  const std::lock_guard lock(state_->mutex);
  return state_->attempt != nullptr && state_->attempt->open && !state_->attempt->ended;
}
const std::string& Connection::address() const { return state_->options.address; }
ConnectionStatistics Connection::statistics() const {
  const std::lock_guard lock(state_->mutex);
  return state_->statistics;
}

}  // namespace trireme::distributed
