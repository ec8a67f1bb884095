#include "proxy.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"

namespace trireme::chaos {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxHeld = 1u << 20;  // bytes of a direction; more stays with the sender
constexpr std::size_t kPiece = 1u << 16;

sockaddr_in socket_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (colon == std::string::npos ||
      ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1) {
    fail_usage("a proxy needs an address like 127.0.0.1:80, not " + text);
  }
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(text.c_str() + colon + 1)));
  return address;
}

class Socket {
 public:
  explicit Socket(int file) : file_(file) {}
  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (file_ >= 0) ::close(file_);
  }
  int get() const { return file_; }
  void reset_when_closed() const {
    const linger now{1, 0};
    ::setsockopt(file_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }

 private:
  int file_;
};

Socket open_socket() {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (file < 0) fail_io(std::string("a socket of a proxy: ") + std::strerror(errno));
  const int one = 1;
  ::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  return Socket(file);
}

void send_at_once(const Socket& socket) {
  const int one = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

// The data of one direction.
class Direction {
 public:
  bool wants_to_read() const { return !ended_ && held_ < kMaxHeld; }
  // When there is something to write; nothing: never.
  std::optional<Clock::time_point> due() const {
    return pieces_.empty() ? std::nullopt : std::optional(pieces_.front().due);
  }
  bool over() const { return ended_ && pieces_.empty(); }

  // Returns false if the connection is broken.
  bool read(const Socket& from, const Wire& wire) {
    std::string bytes(kPiece, '\0');
    const ssize_t count = ::recv(from.get(), bytes.data(), bytes.size(), 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    bytes.resize(static_cast<std::size_t>(count));
    ended_ = count == 0;
    held_ += bytes.size();
    const auto now = Clock::now();
    free_ = std::max(free_, now);
    if (wire.rate > 0) {
      free_ += std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(static_cast<double>(count) / wire.rate));
    }
    last_ = std::max(last_, free_ + wire.delay);  // in their order, whatever the delay was before
    pieces_.push_back({last_, std::move(bytes)});
    return true;
  }
  // The same for writing due data.
  bool write(const Socket& to, std::atomic<std::int64_t>& forwarded) {
    while (!pieces_.empty() && pieces_.front().due <= Clock::now()) {
      Piece& first = pieces_.front();
      if (first.bytes.empty()) {
        ::shutdown(to.get(), SHUT_WR);
        pieces_.pop_front();
        continue;
      }
      const ssize_t count = ::send(to.get(), first.bytes.data(), first.bytes.size(), MSG_NOSIGNAL);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      forwarded += count;
      held_ -= static_cast<std::size_t>(count);
      first.bytes.erase(0, static_cast<std::size_t>(count));
      if (!first.bytes.empty()) return true;
      pieces_.pop_front();
    }
    return true;
  }

 private:
  struct Piece {
    Clock::time_point due;
    std::string bytes;  // none: the end
  };
  std::deque<Piece> pieces_;
  std::size_t held_ = 0;
  bool ended_ = false;
  Clock::time_point free_ = {}, last_ = {};
};

struct Pair {
  Socket near, far;        // of who has connected, and of the target
  Direction there, back;   // from near to far, and from far to near
  bool connecting = true;  // to the target
  std::size_t place = 0;   // in the list of what is polled
};

}  // namespace

class Proxy::Loop {
 public:
  Loop(Proxy& proxy, Socket listener, const sockaddr_in& target)
      : proxy_(proxy), listener_(std::move(listener)), target_(target) {}

  void run() {
    while (!proxy_.stop_) {
      wait();
      {
        const std::lock_guard lock(proxy_.mutex_);
        wire_ = proxy_.wire_;
      }
      if (wire_.cut) reset_all();
      if (polled_[0].revents != 0) {
        std::uint64_t ignored = 0;
        (void)!::read(proxy_.wake_, &ignored, sizeof ignored);
      }
      if (polled_[1].revents != 0) accept();
      if (!wire_.silent) pairs_.remove_if([this](Pair& pair) { return !carry(pair); });
    }
    reset_all();
  }

 private:
  void reset_all() {
    for (const Pair& pair : pairs_) pair.near.reset_when_closed(), pair.far.reset_when_closed();
    pairs_.clear();
  }

  void wait() {
    polled_ = {{proxy_.wake_, POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    auto next = Clock::now() + std::chrono::seconds(1);
    for (Pair& pair : pairs_) {
      pair.place = 0;
      if (wire_.silent) continue;
      pair.place = polled_.size();
      polled_.push_back({pair.near.get(), 0, 0});
      polled_.push_back({pair.far.get(), 0, 0});
      ask(pair, next);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    ::poll(polled_.data(), polled_.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
  }
  void ask(const Pair& pair, Clock::time_point& next) {
    pollfd &near = polled_[pair.place], &far = polled_[pair.place + 1];
    if (pair.connecting) {
      far.events = POLLOUT;
      near.fd = -1;  // its data are read when the other side is connected
      return;
    }
    const auto now = Clock::now();
    const auto one = [&](const Direction& way, pollfd& from, pollfd& to) {
      if (way.wants_to_read()) from.events |= POLLIN;
      const auto due = way.due();
      if (due && *due <= now) to.events |= POLLOUT;
      else if (due) next = std::min(next, *due);
    };
    one(pair.there, near, far);
    one(pair.back, far, near);
    // A broken socket is always ready: it is polled only when there is work for it.
    if (near.events == 0) near.fd = -1;
    if (far.events == 0) far.fd = -1;
  }

  void accept() {
    Socket near(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (near.get() < 0) return;
    if (wire_.cut) return near.reset_when_closed();
    Socket far = open_socket();
    send_at_once(near);
    send_at_once(far);
    const int failed =
        ::connect(far.get(), reinterpret_cast<const sockaddr*>(&target_), sizeof target_);
    if (failed != 0 && errno != EINPROGRESS) return near.reset_when_closed();
    pairs_.push_back({std::move(near), std::move(far), {}, {}});
  }

  // Returns whether the connection lives.
  bool carry(Pair& pair) {
    if (pair.place == 0) return true;  // was not asked for
    const short near = polled_[pair.place].revents, far = polled_[pair.place + 1].revents;
    bool lives = true;
    if (pair.connecting) {
      if (far == 0) return true;
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(pair.far.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      pair.connecting = false;
      lives = error == 0;
    } else {
      if (near != 0 && pair.there.wants_to_read()) lives = pair.there.read(pair.near, wire_);
      if (lives && far != 0 && pair.back.wants_to_read()) lives = pair.back.read(pair.far, wire_);
    }
    lives = lives && pair.there.write(pair.far, proxy_.forwarded_) &&
            pair.back.write(pair.near, proxy_.forwarded_);
    if (!lives) pair.near.reset_when_closed(), pair.far.reset_when_closed();
    return lives && !(pair.there.over() && pair.back.over());
  }

  Proxy& proxy_;
  const Socket listener_;
  const sockaddr_in target_;
  Wire wire_;
  std::list<Pair> pairs_;
  std::vector<pollfd> polled_;
};

Proxy::Proxy(const std::string& address, const std::string& target) {
  Socket listener = open_socket();
  sockaddr_in own = socket_address(address);
  socklen_t size = sizeof own;
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&own), size) != 0 ||
      ::listen(listener.get(), 64) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) {
    fail_io("a proxy cannot listen at " + address + ": " + std::strerror(errno));
  }
  address_ = address.substr(0, address.rfind(':') + 1) + std::to_string(ntohs(own.sin_port));
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  if (wake_ < 0) fail_io(std::string("a proxy: ") + std::strerror(errno));
  auto loop = std::make_shared<Loop>(*this, std::move(listener), socket_address(target));
  thread_ = std::thread([loop] { loop->run(); });
}

Proxy::~Proxy() {
  stop_ = true;
  wake();
  thread_.join();
  ::close(wake_);
}

std::string Proxy::address() const { return address_; }

void Proxy::set(const Wire& wire) {
  {
    const std::lock_guard lock(mutex_);
    wire_ = wire;
  }
  wake();
}

void Proxy::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

}  // namespace trireme::chaos
