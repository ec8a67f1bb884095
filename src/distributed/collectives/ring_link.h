#pragma once

// A member's connections around the ring, by TCP of its own: bytes go to the next member and come
// from the one before. There is no thread behind it: who waits for bytes sends meanwhile. A message
// that went through Gloo's thread would cost two changes of thread, and be read in small pieces, as
// they arrive; here it is read in large ones.

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

// One thread uses it; close() is for all. All errors: io.
class RingLink {
 public:
  using Clock = std::chrono::steady_clock;

  // Listens at the interface, by its name, or else the IP address. `on_stranger`: called for
  // everybody who connects without the token.
  RingLink(const std::string& interface, const std::string& address,
           std::function<void()> on_stranger = {});
  ~RingLink();
  RingLink(const RingLink&) = delete;
  RingLink& operator=(const RingLink&) = delete;

  const std::string& address() const { return listener_.address(); }
  // Connects to where the next member listens, and waits for the one before. Both know the token;
  // whoever connects without it is let go.
  void connect(const std::string& next, const std::string& token, Clock::time_point deadline);

  // To the next member, behind what was sent before. The memory stays as it is until flush() has
  // returned.
  void send(const void* data, std::size_t bytes);
  // The next bytes of the member before.
  void receive(void* data, std::size_t bytes, Clock::time_point deadline);
  // Waits until all has been handed to the system.
  void flush(Clock::time_point deadline);
  // Wakes whoever waits; nothing goes through any more.
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
  const std::function<void()> on_stranger_;
  int next_ = -1, previous_ = -1;  // sockets
  std::deque<std::span<const std::byte>> waiting_;
  std::size_t least_ = 1;  // bytes that must be there before poll() says so
};

}  // namespace trireme::distributed
