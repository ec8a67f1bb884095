#pragma once

// The asking end of a stream of frames. A connection opens its stream by itself, and again when it
// breaks.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "distributed/coordination/security.h"
#include "distributed/coordination/store.h"
#include "distributed/transport/frame.h"

namespace trireme::distributed {

using Deadline = std::chrono::steady_clock::time_point;
inline Deadline in(Milliseconds time) { return std::chrono::steady_clock::now() + time; }

// A thread that waits for what the network brings to any number of connections.
class Network {
 public:
  Network();
  ~Network();  // all its connections are gone

 private:
  friend class Connection;
  struct State;
  std::unique_ptr<State> state_;
};

struct ConnectionOptions {
  std::string address;
  Security security = {};         // check_security() says what is asked for
  int depth = 8;                  // requests under way at once
  std::size_t bytes = 32u << 20;  // of these
  std::size_t largest_frame = kLargestFrame;
};

struct ConnectionStatistics {
  std::uint64_t streams = 0;                  // that were opened
  std::uint64_t requests = 0, answers = 0;    // frames out and in
  std::uint64_t bytes_out = 0, bytes_in = 0;  // of these, with headers
  std::uint64_t expired = 0;                  // requests that had no answer in time
  std::uint64_t broken = 0;                   // requests whose stream broke
  std::uint64_t late = 0;                     // answers to requests that had expired
  std::uint64_t malformed = 0;  // answers that were none, or damaged: the stream was ended
};

// What will be the answer to a request. Empty ones have none to wait for.
class Pending {
 public:
  struct State;
  Pending() = default;
  explicit Pending(std::shared_ptr<State> state) : state_(std::move(state)) {}
  explicit operator bool() const { return state_ != nullptr; }
  // Whether get() would not wait.
  bool ready() const;
  // Waits until get() would not, or until then. Whether it would not.
  bool wait(Deadline until) const;
  // Once. Errors: Unavailable, when the stream broke, by the deadline or before. A server that
  // refuses us is one more that is not available: the port of one that died may be another job's by
  // now, and the one that is asked for is elsewhere.
  Frame get();

 private:
  std::shared_ptr<State> state_;
};

// Safe for several threads, though one each is quicker.
class Connection {
 public:
  // Does not wait for the server. The network outlives the connection. Errors: usage, for security
  // that is not enough.
  Connection(Network& network, const ConnectionOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Waits while there are as many requests under way as may be. What waits for the stream to open
  // is sent when it does. Errors: Unavailable, if the deadline comes first; usage, for a frame that
  // is too large; as of get().
  Pending send(Frame frame, Deadline deadline);
  Frame ask(Frame frame, Deadline deadline) { return send(std::move(frame), deadline).get(); }

  const std::string& address() const;
  // Whether its stream is open, as far as is known by now.
  bool open() const;
  ConnectionStatistics statistics() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace trireme::distributed
