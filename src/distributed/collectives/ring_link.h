#pragma once

// The connections of a member around the ring, by TCP: bytes go to the next member and come from
// the previous one. There is no extra thread: a thread that waits for bytes sends meanwhile. A
// message through the thread of Gloo would cost two thread switches and be read in small pieces as
// they arrive; here the pieces are large.

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "distributed/collectives/endpoint.h"

namespace trireme::distributed {

// For one thread; close() is thread-safe. All errors: io.
class RingLink {
 public:
  using Clock = std::chrono::steady_clock;

  // Listens at the interface of that name, or else at the IP address. Calls
  // `on_unauthenticated_peer` for every connection without the token.
  RingLink(const std::string& interface, const std::string& address,
           std::function<void()> on_unauthenticated_peer = {});
  ~RingLink();
  RingLink(const RingLink&) = delete;
  RingLink& operator=(const RingLink&) = delete;

  const std::string& address() const { return listener_.address(); }
  // Connects to the address of the next member and waits for the previous one. Both know the token;
  // connections without it are closed.
  void connect(const std::string& next, const std::string& token, Clock::time_point deadline);

  // Sends to the next member after earlier data. The memory must stay valid until flush() returns.
  void send(const void* data, std::size_t bytes);
  // Receives the next bytes of the previous member.
  void receive(void* data, std::size_t bytes, Clock::time_point deadline);
  // Waits until the system has accepted all data.
  void flush(Clock::time_point deadline);
  // Wakes waiting threads; nothing is sent any more.
  void close();

 private:
  void call(const std::string& next, const std::string& token, Clock::time_point deadline);
  void answer(const std::string& token, Clock::time_point deadline);
  bool push();
  bool pull(std::span<std::byte>& rest);
  void sleep(std::size_t wanted, Clock::time_point deadline);
  void wait(std::size_t wanted, Clock::time_point since, Clock::time_point deadline);

  void refuse(int caller);

  Listener listener_;
  const std::function<void()> on_unauthenticated_peer_;
  int next_ = -1, previous_ = -1;  // sockets
  std::deque<std::span<const std::byte>> waiting_;
  std::size_t min_bytes_ = 1;  // bytes that must arrive before poll() returns
};

}  // namespace trireme::distributed
