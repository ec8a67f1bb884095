#include "distributed/monitor/http.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/testing/error.h"
#include "base/testing/wait_until.h"

namespace trireme::distributed {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

// The client end of a connection, without any library.
class Caller {
 public:
  explicit Caller(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Caller() { ::close(socket_); }
  // False if the server reads no more.
  bool send(const std::string& text) const {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  void end() const { ::shutdown(socket_, SHUT_WR); }
  // Returns everything that arrives until the server closes, for at most a minute.
  std::string answer() const {
    std::string text;
    char part[4096];
    pollfd file{socket_, POLLIN, 0};
    while (::poll(&file, 1, 60000) == 1) {
      const ssize_t count = ::recv(socket_, part, sizeof part, 0);
      if (count <= 0) return text;
      text.append(part, static_cast<std::size_t>(count));
    }
    return text + "(no end)";
  }

 private:
  const int socket_;
};

std::string ask(int port, const std::string& request) {
  const Caller caller(port);
  caller.send(request);
  return caller.answer();
}

std::string get(int port, const std::string& path) {
  return ask(port, "GET " + path + " HTTP/1.1\r\nHost: here\r\n\r\n");
}

constexpr const char* kMetrics =
    "\r\n\r\n# HELP steps_total Steps.\n# TYPE steps_total counter\nsteps_total 7\n";

class Http : public ::testing::Test {
 protected:
  Http() {
    registry_.counter("steps_total", "Steps.").add(7);
    health_.add("step", [this] { return Finding{moves_, moves_ ? "now" : "never"}; });
    health_.add(
        "lease", [this] { return Finding{well_, well_ ? "held" : "lost"}; }, Means::not_ready);
    begin(Milliseconds(60000));
  }
  void begin(Milliseconds patience) {
    HttpOptions options;
    options.patience = patience;
    options.waiting = 4;
    server_.emplace(options, monitor_pages(registry_, health_, "trainer_0 of a job\n"));
  }
  int port() const { return server_->port(); }
  void still_answers() { EXPECT_THAT(get(port(), "/metrics"), HasSubstr(kMetrics)); }
  // While the server is too busy to answer.
  void answers_again() {
    EXPECT_TRUE(
        wait_until([&] { return get(port(), "/metrics").find(kMetrics) != std::string::npos; }));
  }

  std::atomic<bool> moves_ = true, well_ = true;
  Registry registry_;
  Health health_;
  std::optional<HttpServer> server_;
};

TEST_F(Http, Pages) {
  still_answers();
  EXPECT_THAT(get(port(), "/metrics"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(get(port(), "/metrics"),
              HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  for (const char* page : {"/healthz", "/readyz"}) {
    EXPECT_THAT(get(port(), page), StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(get(port(), page), HasSubstr("ok    step: now\n"));
  }
  EXPECT_THAT(get(port(), "/readyz"), HasSubstr("ok    lease: held\n"));
  EXPECT_THAT(get(port(), "/"), HasSubstr("trainer_0 of a job\n"));
  EXPECT_THAT(get(port(), "/other"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get(port(), "/other"), HasSubstr("/metrics"));
  const std::string head = ask(port(), "HEAD /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
}

// A process whose lease is lost must not be ended: it takes part again when the store is back.
TEST_F(Http, WhoIsNotReadyIsAlive) {
  well_ = false;
  EXPECT_THAT(get(port(), "/readyz"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(get(port(), "/readyz"), HasSubstr("bad   lease: lost\n"));
  EXPECT_THAT(get(port(), "/healthz"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(get(port(), "/healthz"), Not(HasSubstr("lease")));
  moves_ = false;
  for (const char* page : {"/healthz", "/readyz"}) {
    EXPECT_THAT(get(port(), page), StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(get(port(), page), HasSubstr("bad   step: never\n"));
  }
}

TEST_F(Http, RefusesOtherMethods) {
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    const std::string answer =
        ask(port(), method + " /metrics HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\nabcde");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 "));
    EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD\r\n"));
  }
  EXPECT_THAT(ask(port(), "EAT /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  still_answers();
}

TEST_F(Http, WhatIsTooLong) {
  const std::string many(1 << 20, 'a');
  EXPECT_THAT(get(port(), "/" + many), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask(port(), many), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask(port(), "GET / HTTP/1.1\r\nX: " + many + "\r\n\r\n"),
              AnyOf(StartsWith("HTTP/1.1 431 "), StartsWith("HTTP/1.1 400 ")));
  std::string headers = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 2000; ++i) headers += "X" + std::to_string(i) + ": 1\r\n";
  EXPECT_THAT(ask(port(), headers + "\r\n"),
              AnyOf(StartsWith("HTTP/1.1 431 "), StartsWith("HTTP/1.1 400 ")));
  still_answers();
}

// A small request must not make a large answer, nor a deep recursion in the patterns of the
// library.
TEST_F(Http, Ranges) {
  std::string ranges = "GET /metrics HTTP/1.1\r\nRange: bytes=0-9";
  while (ranges.size() < 3900) ranges += ",0-9";
  EXPECT_LT(ask(port(), ranges + "\r\n\r\n").size(), 4000u);
  EXPECT_NE(ask(port(), "GET /metrics HTTP/1.1\r\nRange: bytes=9-1,x\r\n\r\n"), "");
  still_answers();
}

TEST_F(Http, WhatIsCutOff) {
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n";
  for (std::size_t size = 0; size < request.size(); ++size) {
    const Caller caller(port());
    caller.send(request.substr(0, size));
    caller.end();
    EXPECT_THAT(caller.answer(), AnyOf("", StartsWith("HTTP/1.1 400 "))) << size;
  }
  {
    const Caller caller(port());
  }
  still_answers();
}

// Each byte alone arrives in time; all together do not.
TEST_F(Http, WhatIsSlow) {
  begin(Milliseconds(200));
  const Caller silent(port());
  const Caller slow(port());
  bool taken = true;
  for (int i = 0; i < 300 && taken; ++i) {
    taken = slow.send("G");
    std::this_thread::sleep_for(Milliseconds(10));
  }
  EXPECT_FALSE(taken);
  EXPECT_EQ(silent.answer(), "");
  answers_again();
}

TEST_F(Http, ManyAtOnce) {
  begin(Milliseconds(200));
  std::vector<std::unique_ptr<Caller>> idle;
  for (int i = 0; i < 6; ++i) idle.push_back(std::make_unique<Caller>(port()));
  answers_again();  // when those have had their time
}

// Fault 21: 20 idle connections kept both workers and the queue, so that a probe of Kubernetes
// failed and the process was ended.
TEST_F(Http, ProbesDoNotWaitForIdleConnections) {
  begin(Milliseconds(60000));
  std::vector<std::unique_ptr<Caller>> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(std::make_unique<Caller>(port()));
  for (std::size_t i = 0; i < idle.size(); i += 2) idle[i]->send("GET /metrics HTTP/1.1\r\nHo");
  const auto start = Clock::now();
  EXPECT_THAT(get(port(), "/healthz"), StartsWith("HTTP/1.1 200 OK\r\n"));
  still_answers();
  EXPECT_LT(Clock::now() - start, Milliseconds(30000));
  idle[0]->send("st: here\r\n\r\n");
  EXPECT_THAT(idle[0]->answer(), HasSubstr(kMetrics));
}

// The connections that have waited longest make room for new ones.
TEST_F(Http, MoreIdleConnectionsThanThereIsRoomFor) {
  begin(Milliseconds(60000));
  const Caller first(port());
  first.send("GET /met");
  std::vector<std::unique_ptr<Caller>> idle;
  for (int i = 0; i < 300; ++i) idle.push_back(std::make_unique<Caller>(port()));
  EXPECT_THAT(first.answer(), "");
  still_answers();
}

TEST_F(Http, Noise) {
  std::mt19937 random(1);
  const std::string frame = "GET /metrics HTTP/1.1\r\nHost: here\r\nAccept: */*\r\n\r\n";
  for (int i = 0; i < 200; ++i) {
    std::string request = frame;
    if (i % 2 == 0) {
      for (char& c : request) c = static_cast<char>(random());
    } else {
      for (int k = 0; k < 3; ++k) request[random() % request.size()] = static_cast<char>(random());
    }
    const Caller caller(port());
    caller.send(request);
    caller.end();
    EXPECT_THAT(caller.answer(), AnyOf("", StartsWith("HTTP/1.")));
  }
  still_answers();
}

TEST_F(Http, EndsBeforeItsPatienceDoes) {
  begin(Milliseconds(60000));
  const Caller silent(port());
  const Caller half(port());
  half.send("GET /met");
  const auto start = Clock::now();
  server_.reset();
  EXPECT_LT(Clock::now() - start, Milliseconds(20000));
}

TEST_F(Http, APortIsOnesOwn) {
  HttpOptions options;
  options.port = port();
  EXPECT_THAT(error_of(ErrorKind::io, [&] { HttpServer(options, {}); }),
              HasSubstr("127.0.0.1:" + std::to_string(port())));
}

TEST(HttpPages, OneThatThrows) {
  HttpServer server({}, {{"/x", []() -> Page { throw std::runtime_error("why"); }}});
  const std::string answer = get(server.port(), "/x");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, HasSubstr("why\n"));
}

}  // namespace
}  // namespace trireme::distributed
