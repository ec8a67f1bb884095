#pragma once

// The client side of a stream of frames. A connection opens its stream automatically, and again
// after it breaks.

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

// A thread that waits for network events of any number of connections.
class Network {
 public:
  Network();
  ~Network();  // all its connections must be destroyed before

 private:
  friend class Connection;
  struct State;
  std::unique_ptr<State> state_;
};

struct ConnectionOptions {
  std::string address;
  // Of the server. Another service may have the port of a server that ended; it refuses us.
  std::string service = kDefaultService;
  Security security = {};         // check_security() has the requirements
  int depth = 8;                  // most requests in flight
  std::size_t bytes = 32u << 20;  // of requests in flight
  std::size_t largest_frame = kLargestFrame;
};

struct ConnectionStatistics {
  std::uint64_t streams = 0;                  // opened so far
  std::uint64_t requests = 0, answers = 0;    // frames sent and received
  std::uint64_t bytes_out = 0, bytes_in = 0;  // of these frames, with headers
  std::uint64_t expired = 0;                  // requests without an answer in time
  std::uint64_t broken = 0;                   // requests whose stream broke
  std::uint64_t late = 0;                     // answers to requests that had expired
  std::uint64_t malformed = 0;                // invalid or damaged answers; each ended the stream
};

// The future answer to a request. An empty one has nothing to wait for.
class Pending {
 public:
  struct State;
  Pending() = default;
  explicit Pending(std::shared_ptr<State> state) : state_(std::move(state)) {}
  explicit operator bool() const { return state_ != nullptr; }
  // Returns whether get() would return at once.
  bool ready() const;
  // Waits until get() would return at once, or until the time. Returns whether it would.
  bool wait(Deadline until) const;
  // Call it once. Errors: Unavailable if the stream broke or the deadline passed. A server that
  // refuses us also counts as unavailable: the port of a dead server may belong to another job now.
  Frame get();

 private:
  std::shared_ptr<State> state_;
};

// Thread-safe, but one connection for each thread is faster.
class Connection {
 public:
  // Does not wait for the server. The network outlives the connection. Errors: usage for
  // insufficient security.
  Connection(Network& network, const ConnectionOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Waits while the limits of requests in flight are reached, until `space` at most. Requests that
  // wait for the stream are sent when it opens. Errors: Unavailable if there is no space in time;
  // usage for a frame that is too large; as get().
  Pending send(Frame frame, Deadline deadline, Deadline space);
  Pending send(Frame frame, Deadline deadline) {
    return send(std::move(frame), deadline, deadline);
  }
  Frame ask(Frame frame, Deadline deadline) { return send(std::move(frame), deadline).get(); }

  const std::string& address() const;
  // Returns whether its stream is open, by the last event.
  bool open() const;
  ConnectionStatistics statistics() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace trireme::distributed
