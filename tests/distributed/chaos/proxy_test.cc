// The effect of a proxy on data, with an echo server of this test.

#include "proxy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

namespace trireme::chaos {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

int listening_socket(std::string* address) {
  const int file = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof own;
  EXPECT_EQ(::bind(file, reinterpret_cast<sockaddr*>(&own), size), 0);
  EXPECT_EQ(::listen(file, 8), 0);
  ::getsockname(file, reinterpret_cast<sockaddr*>(&own), &size);
  *address = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  return file;
}

// An echo server, connection by connection.
class Echo {
 public:
  Echo() : listener_(listening_socket(&address)), thread_([this] { run(); }) {}
  ~Echo() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (std::thread& each : threads_) each.join();
    ::close(listener_);
  }
  std::string address;

 private:
  void run() {
    for (int file = 0; (file = ::accept(listener_, nullptr, nullptr)) >= 0;) {
      threads_.emplace_back([file] {
        char bytes[4096];
        for (ssize_t count = 0; (count = ::read(file, bytes, sizeof bytes)) > 0;) {
          if (::send(file, bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL) != count) break;
        }
        ::close(file);
      });
    }
  }
  int listener_;
  std::vector<std::thread> threads_;
  std::thread thread_;
};

class Caller {
 public:
  explicit Caller(const std::string& address) : file_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    const std::size_t colon = address.find(':');
    ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    EXPECT_EQ(::connect(file_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~Caller() { ::close(file_); }
  void send(const std::string& text) const {
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count = ::send(file_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }
  void end() const { ::shutdown(file_, SHUT_WR); }
  // Reads `count` bytes, or what arrives until the time limit or the end of the connection.
  std::string hear(std::size_t count, milliseconds timeout = milliseconds(2000)) {
    std::string heard;
    const auto until = Clock::now() + timeout;
    while (heard.size() < count) {
      const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
      pollfd polled{file_, POLLIN, 0};
      if (left <= 0 || ::poll(&polled, 1, static_cast<int>(left)) <= 0) break;
      char bytes[4096];
      const ssize_t got = ::read(file_, bytes, std::min(sizeof bytes, count - heard.size()));
      broken = got < 0;
      ended = got == 0;
      if (got <= 0) break;
      heard.append(bytes, static_cast<std::size_t>(got));
    }
    return heard;
  }
  bool broken = false, ended = false;

 private:
  int file_;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

TEST(ChaosProxy, ForwardsBytesInTheirOrder) {
  Echo echo;
  Proxy proxy("127.0.0.2:0", echo.address);
  EXPECT_EQ(proxy.address().substr(0, 10), "127.0.0.2:");
  Caller first(proxy.address()), second(proxy.address());
  std::string text;
  for (int i = 0; i < 40000; ++i) text += std::to_string(i) + " ";
  std::thread sender([&] { first.send(text); });
  second.send("two");
  EXPECT_EQ(first.hear(text.size()), text);
  EXPECT_EQ(second.hear(3), "two");
  sender.join();
  first.end();
  EXPECT_EQ(first.hear(1), "");
  EXPECT_TRUE(first.ended);
  EXPECT_EQ(proxy.forwarded(), 2 * static_cast<std::int64_t>(text.size() + 3));
}

TEST(ChaosProxy, DelaysBothWays) {
  Echo echo;
  Proxy proxy("127.0.0.1:0", echo.address);
  proxy.set({.delay = milliseconds(400)});
  Caller caller(proxy.address());
  const auto start = Clock::now();
  caller.send("slow");
  EXPECT_EQ(caller.hear(4), "slow");
  EXPECT_GE(seconds_since(start), 0.8);
  proxy.set({});
  const auto again = Clock::now();
  caller.send("fast");
  EXPECT_EQ(caller.hear(4), "fast");
  EXPECT_LT(seconds_since(again), 0.8);
}

TEST(ChaosProxy, LimitsTheRate) {
  Echo echo;
  Proxy proxy("127.0.0.1:0", echo.address);
  proxy.set({.rate = 100000});
  Caller caller(proxy.address());
  const auto start = Clock::now();
  caller.send(std::string(20000, 'x'));
  EXPECT_EQ(caller.hear(20000), std::string(20000, 'x'));
  EXPECT_GE(seconds_since(start), 0.2);
}

// Data sent meanwhile arrive afterwards, as over a repaired connection.
TEST(ChaosProxy, IsSilentForAWhile) {
  Echo echo;
  Proxy proxy("127.0.0.1:0", echo.address);
  Caller before(proxy.address());
  before.send("a");
  EXPECT_EQ(before.hear(1), "a");
  proxy.set({.silent = true});
  Caller meanwhile(proxy.address());
  before.send("b");
  meanwhile.send("c");
  EXPECT_EQ(before.hear(1, milliseconds(80)), "");
  EXPECT_EQ(meanwhile.hear(1, milliseconds(20)), "");
  EXPECT_FALSE(before.broken || before.ended || meanwhile.broken || meanwhile.ended);
  proxy.set({});
  EXPECT_EQ(before.hear(1), "b");
  EXPECT_EQ(meanwhile.hear(1), "c");
}

TEST(ChaosProxy, ResetsConnectionsWhileItIsCut) {
  Echo echo;
  Proxy proxy("127.0.0.1:0", echo.address);
  Caller before(proxy.address());
  before.send("a");
  EXPECT_EQ(before.hear(1), "a");
  proxy.set({.cut = true});
  EXPECT_EQ(before.hear(1), "");
  EXPECT_TRUE(before.broken);  // and not ended in good order
  Caller meanwhile(proxy.address());
  EXPECT_EQ(meanwhile.hear(1), "");
  EXPECT_TRUE(meanwhile.broken);
  proxy.set({});
  Caller after(proxy.address());
  after.send("b");
  EXPECT_EQ(after.hear(1), "b");
}

TEST(ChaosProxy, ResetsWhereNobodyListens) {
  std::string nobody;
  ::close(listening_socket(&nobody));
  Proxy proxy("127.0.0.1:0", nobody);
  Caller caller(proxy.address());
  EXPECT_EQ(caller.hear(1), "");
  EXPECT_TRUE(caller.broken);
}

}  // namespace
}  // namespace trireme::chaos
