#include "distributed/collectives/ring_link.h"

#include <fmt/core.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"

namespace trireme::distributed {
namespace {

using Clock = RingLink::Clock;

// How long to poll for the next bytes before the thread sleeps: waking takes longer than this.
constexpr std::chrono::microseconds kSpin{50};
// Bytes that justify waking up if more are wanted.
constexpr std::size_t kLargestWake = 128 * 1024;
// Most connections that have not sent the token yet.
constexpr std::size_t kMaxUnauthenticatedPeers = 16;

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000));
}

[[noreturn]] void fail_ended(const char* which, int error) {
  fail_io(fmt::format("the connection {} has ended{}{}", which, error == 0 ? "" : ": ",
                      error == 0 ? "" : std::strerror(error)));
}

void prepare(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

// A connection and how much of the token it has sent.
struct Caller {
  int socket;
  std::string sent = {};
};

// Whether the whole token has arrived; nothing if it is wrong.
std::optional<bool> hear(Caller& caller, const std::string& token) {
  std::string bytes(token.size() - caller.sent.size(), '\0');
  const ssize_t got = ::recv(caller.socket, bytes.data(), bytes.size(), 0);
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) return std::nullopt;
  caller.sent.append(bytes, 0, static_cast<std::size_t>(got));
  if (!token.starts_with(caller.sent)) return std::nullopt;
  return caller.sent == token;
}

}  // namespace

RingLink::RingLink(const std::string& interface, const std::string& address,
                   std::function<void()> on_unauthenticated_peer)
    : listener_(interface, address), on_unauthenticated_peer_(std::move(on_unauthenticated_peer)) {
  if (listener_.socket() < 0 || listener_.address() == "-") {
    fail_io(fmt::format("all-reduce cannot listen at {}", interface.empty() ? address : interface));
  }
}

RingLink::~RingLink() {
  for (const int socket : {next_, previous_}) {
    if (socket >= 0) ::close(socket);
  }
}

void RingLink::connect(const std::string& next, const std::string& token,
                       Clock::time_point deadline) {
  call(next, token, deadline);
  answer(token, deadline);
}

void RingLink::call(const std::string& next, const std::string& token, Clock::time_point deadline) {
  const std::optional<Endpoint> endpoint = parse_endpoint(next);
  if (!endpoint) fail_io(fmt::format("the next member says that it listens at \"{}\"", next));
  next_ = ::socket(endpoint->any.sa_family, kSocketKind, 0);
  if (next_ < 0) fail_ended("to the next member", errno);
  int error = ::connect(next_, &endpoint->any, endpoint->size) == 0 ? 0 : errno;
  while (error == EINPROGRESS) {
    pollfd descriptor{next_, POLLOUT, 0};
    if (::poll(&descriptor, 1, milliseconds_until(deadline)) == 1) {
      socklen_t size = sizeof error;
      ::getsockopt(next_, SOL_SOCKET, SO_ERROR, &error, &size);
    } else if (Clock::now() >= deadline) {
      error = ETIMEDOUT;
    }
  }
  if (error != 0) fail_ended("to the next member", error);
  prepare(next_);
  send(token.data(), token.size());
  flush(deadline);
}

void RingLink::answer(const std::string& token, Clock::time_point deadline) {
  std::vector<Caller> callers;
  while (previous_ < 0 && Clock::now() < deadline) {
    std::vector<pollfd> descriptors = {{listener_.socket(), POLLIN, 0}};
    for (const Caller& caller : callers) descriptors.push_back({caller.socket, POLLIN, 0});
    ::poll(descriptors.data(), descriptors.size(), milliseconds_until(deadline));
    const int caller = listener_.accept();
    if (caller >= 0) callers.push_back({caller});
    std::erase_if(callers, [&](Caller& one) {
      const std::optional<bool> right = hear(one, token);
      if (right == true && previous_ < 0) previous_ = one.socket;
      else if (right != false) refuse(one.socket);
      return right != false;
    });
    if (callers.size() > kMaxUnauthenticatedPeers) {
      refuse(callers.front().socket);
      callers.erase(callers.begin());
    }
  }
  for (const Caller& caller : callers) refuse(caller.socket);
  if (previous_ < 0) fail_io("the member before has not connected in time");
  prepare(previous_);
}

void RingLink::refuse(int caller) {
  ::close(caller);
  if (on_unauthenticated_peer_) on_unauthenticated_peer_();
}

// Writes as much as the system accepts. Returns whether it wrote any.
bool RingLink::push() {
  bool any = false;
  while (!waiting_.empty()) {
    std::span<const std::byte>& first = waiting_.front();
    const ssize_t sent = ::send(next_, first.data(), first.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return any;
    if (sent < 0) fail_ended("to the next member", errno);
    any = true;
    first = first.subspan(static_cast<std::size_t>(sent));
    if (!first.empty()) return any;
    waiting_.pop_front();
  }
  return any;
}

// Reads what has arrived. Returns whether there was any.
bool RingLink::pull(std::span<std::byte>& rest) {
  const ssize_t got = ::recv(previous_, rest.data(), rest.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) fail_ended("from the member before", got < 0 ? errno : 0);
  rest = rest.subspan(static_cast<std::size_t>(got));
  return true;
}

void RingLink::send(const void* data, std::size_t bytes) {
  if (bytes > 0) waiting_.emplace_back(static_cast<const std::byte*>(data), bytes);
}

void RingLink::receive(void* data, std::size_t bytes, Clock::time_point deadline) {
  std::span<std::byte> rest(static_cast<std::byte*>(data), bytes);
  push();
  for (Clock::time_point since{}; !rest.empty();) {
    const bool pulled = pull(rest);
    if (pulled || push()) since = {};
    else if (since == Clock::time_point{}) since = Clock::now();
    else wait(rest.size(), since, deadline);
  }
}

void RingLink::flush(Clock::time_point deadline) {
  while (!waiting_.empty()) {
    if (!push()) sleep(0, deadline);
  }
}

// Nothing has arrived since then.
void RingLink::wait(std::size_t wanted, Clock::time_point since, Clock::time_point deadline) {
  if (Clock::now() - since < kSpin) ::sched_yield();
  else sleep(wanted, deadline);
}

// Sleeps until `wanted` bytes have arrived (0: none are expected), or waiting bytes can be sent.
void RingLink::sleep(std::size_t wanted, Clock::time_point deadline) {
  const std::size_t min_bytes = std::clamp<std::size_t>(wanted, 1, kLargestWake);
  if (wanted > 0 && min_bytes != min_bytes_) {
    const int value = static_cast<int>(min_bytes);
    ::setsockopt(previous_, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof value);
    min_bytes_ = min_bytes;
  }
  pollfd descriptors[] = {{wanted > 0 ? previous_ : -1, POLLIN, 0},
                          {waiting_.empty() ? -1 : next_, POLLOUT, 0}};
  const int ready = ::poll(descriptors, 2, milliseconds_until(deadline));
  if (ready == 0 && Clock::now() >= deadline) fail_io("no answer in time");
}

void RingLink::close() {
  for (const int socket : {next_, previous_}) {
    if (socket >= 0) ::shutdown(socket, SHUT_RDWR);
  }
}

}  // namespace trireme::distributed
