// Both ends of streams, on loopback.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "base/testing/error.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/rpc.h"
#include "distributed/transport/connection.h"
#include "distributed/transport/frame_server.h"
#include "distributed/transport/testing/certificates.h"
#include "distributed/transport/testing/old_port.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr Milliseconds kLong{60000};  // no test waits so long

std::string address_of(int port) { return "127.0.0.1:" + std::to_string(port); }

void echo(const Peer&, Frame request, Answer& answer) { answer(std::move(request)); }

Frame frame_of(std::string text, std::uint8_t op = 1) {
  Frame frame;
  frame.header.op = op;
  frame.payload.append(std::move(text));
  return frame;
}

std::string random_text(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::string unavailable(const std::function<void()>& work) {
  try {
    work();
  } catch (const Unavailable& error) {
    return error.what();
  }
  return "no error";
}

struct Ends {
  explicit Ends(Handler handler, FrameServerOptions options = {}, ConnectionOptions asking = {}) {
    options.security.token = asking.security.token = "open sesame";
    server.emplace(options, std::move(handler));
    asking.address = address_of(server->port());
    connection.emplace(network, asking);
  }
  std::string ask(const std::string& text) {
    return connection->ask(frame_of(text), in(kLong)).payload.text();
  }

  std::optional<FrameServer> server;
  Network network;
  std::optional<Connection> connection;
};

// A door that handlers stand before until it opens.
class Door {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  bool wait_for(int waiting) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLong, [&] { return waiting_ >= waiting; });
  }
  int waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

TEST(Transport, FramesOfAllSizesComeBack) {
  Ends ends(echo);
  for (const std::size_t size :
       {0u, 1u, 2000u, 2048u, 2049u, 4096u, 100000u, 1u << 20, (16u << 20) - 48}) {
    const std::string text = random_text(size, static_cast<unsigned>(size));
    Frame frame = frame_of(text, 200);
    frame.header.sequence = size;
    const Frame answer = ends.connection->ask(frame, in(kLong));
    EXPECT_EQ(answer.header.op, 200);
    EXPECT_EQ(answer.header.sequence, size);
    ASSERT_TRUE(answer.payload.text() == text) << size;
  }
  const TransportStatistics statistics = ends.server->statistics();
  EXPECT_EQ(statistics.requests, 9u);
  EXPECT_EQ(statistics.answers, 9u);
  EXPECT_EQ(statistics.bytes_in, statistics.bytes_out);
  EXPECT_EQ(statistics.streams, 1u);
  EXPECT_EQ(statistics.open, 1u);
  const std::string text = error_of(ErrorKind::usage, [&] {
    ends.connection->ask(frame_of(std::string((16u << 20) - 47, 'x')), in(kLong));
  });
  EXPECT_THAT(text, HasSubstr("at most"));
}

TEST(Transport, ManyThreadsAndAnswersInAnyOrder) {
  // Every second answer waits for the next one.
  std::mutex mutex;
  std::optional<Answer> held;
  std::optional<Frame> held_frame;
  Ends ends(
      [&](const Peer&, Frame request, Answer& answer) {
        const std::lock_guard lock(mutex);
        if (request.header.op == 1 && !held) {
          held.emplace(std::move(answer));
          held_frame.emplace(std::move(request));
          return;
        }
        answer(std::move(request));
        if (held) (*held)(std::move(*held_frame));
        held.reset();
      },
      {}, {.depth = 5});
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 60; ++i) {
        const std::string text = random_text(100 * i, i + 1000 * t);
        ASSERT_TRUE(ends.ask(text) == text);
      }
    });
  }
  std::thread unheld([&] {
    for (int i = 0; i < 400; ++i) {
      ends.connection->ask(frame_of("no", 2), in(kLong));
      if (i > 200) std::this_thread::yield();
    }
  });
  unheld.join();
  // Further requests release the requests that are still held at the end.
  std::atomic<bool> stop{false};
  std::thread more([&] {
    while (!stop) ends.connection->ask(frame_of("no", 2), in(kLong));
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  more.join();
}

TEST(Transport, DeadlineEndsTheWaitAndALateAnswerDoesNoHarm) {
  Door door;
  Ends ends([&](const Peer&, Frame request, Answer& answer) {
    if (request.payload.text() == "wait") door.wait();
    answer(std::move(request));
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(ends.connection->ask(frame_of("wait"), in(Milliseconds(60))), Unavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  while (ends.connection->statistics().expired == 0) EXPECT_EQ(ends.ask("other"), "other");
  door.open();
  EXPECT_EQ(ends.ask("again"), "again");
  while (ends.connection->statistics().late == 0) ends.ask("until the late answer has come");
  EXPECT_EQ(ends.connection->statistics().expired, 1u);
}

TEST(Transport, WithoutServerTheDeadlineEndsTheWait) {
  Network network;
  Connection connection(network, {.address = "127.0.0.1:1", .security = {.token = "t"}});
  EXPECT_THROW(connection.ask(frame_of("?"), in(Milliseconds(50))), Unavailable);
  const Pending unanswered = connection.send(frame_of("?"), in(kLong));
  EXPECT_FALSE(unanswered.ready());
}

TEST(Transport, ServerThatComesBackIsFoundAndWhatWasUnderWayFails) {
  Door door;
  Ends ends([&](const Peer&, Frame request, Answer& answer) {
    if (request.payload.text() == "wait") door.wait();
    answer(std::move(request));
  });
  const int port = ends.server->port();
  Pending lost = ends.connection->send(frame_of("wait"), in(kLong));
  ASSERT_TRUE(door.wait_for(1));
  std::thread opens([&] {
    EXPECT_THROW(lost.get(), Unavailable);  // before the handler ends
    door.open();
  });
  ends.server.reset();
  opens.join();
  const auto begin = std::chrono::steady_clock::now();
  ends.server.emplace(
      FrameServerOptions{.address = address_of(port), .security = {.token = "open sesame"}}, echo);
  EXPECT_EQ(ends.ask("after"), "after");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  EXPECT_EQ(ends.connection->statistics().streams, 2u);
  EXPECT_EQ(ends.connection->statistics().broken, 1u);
}

TEST(Transport, StrangersAreRefusedAndCounted) {
  Ends ends(echo);
  Network network;
  Connection stranger(network,
                      {.address = ends.connection->address(), .security = {.token = "wrong"}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(unavailable([&] { stranger.ask(frame_of("?"), in(kLong)); }), HasSubstr("token"));
  }
  EXPECT_GE(ends.server->statistics().unauthenticated_peers, 1u);
  EXPECT_EQ(ends.server->statistics().requests, 0u);
  EXPECT_EQ(ends.ask("we are none"), "we are none");
}

// Such as a master of the same job: a push must not reach it.
TEST(Transport, AnotherServiceIsRefusedAndCounted) {
  Ends ends(echo);
  Network network;
  Connection connection(network, {.address = ends.connection->address(),
                                  .service = "Another",
                                  .security = {.token = "open sesame"}});
  EXPECT_THAT(unavailable([&] { connection.ask(frame_of("?"), in(kLong)); }),
              HasSubstr("another service listens there: Frames"));
  EXPECT_GE(ends.server->statistics().unauthenticated_peers, 1u);
  EXPECT_EQ(ends.server->statistics().requests, 0u);
}

// Such as the store of another job.
TEST(Transport, SomebodyElseMayGetThePortOfAServerThatDied) {
  Ends ends(echo);
  EXPECT_EQ(ends.ask("first"), "first");
  const FrameServerOptions options{.address = ends.connection->address(),
                                   .security = {.token = "open sesame"}};
  ends.server.reset();
  const auto store = make_memory_store();
  auto other = testing::at_old_port([&] {
    return std::make_unique<EtcdServer>(
        *store, EtcdServerOptions{.address = options.address, .security = {.token = "another's"}});
  });
  EXPECT_THAT(unavailable([&] {
                for (;;) ends.ask("?");
              }),
              HasSubstr("another service listens there"));
  other.reset();
  testing::at_old_port([&] { ends.server.emplace(options, echo); });
  std::string answer;
  for (const Deadline until = in(kLong); answer.empty() && Clock::now() < until;) {
    try {
      answer = ends.ask("again");
    } catch (const Unavailable&) {
      std::this_thread::sleep_for(Milliseconds(10));
    }
  }
  EXPECT_EQ(answer, "again");
}

TEST(Transport, ServerHasSoManyStreamsAndNoMore) {
  Ends ends(echo, {.streams = 1});
  EXPECT_EQ(ends.ask("first"), "first");
  Network network;
  Connection second(network,
                    {.address = ends.connection->address(), .security = {.token = "open sesame"}});
  EXPECT_THROW(second.ask(frame_of("?"), in(Milliseconds(300))), Unavailable);
  EXPECT_GE(ends.server->statistics().unauthenticated_peers, 1u);
}

TEST(Transport, SecurityThatIsNotEnoughIsRefused) {
  const auto refuse = [](const std::string& address, const Security& security) {
    Network network;
    const std::string asking = error_of(
        ErrorKind::usage, [&] { Connection(network, {.address = address, .security = security}); });
    const std::string answering = error_of(
        ErrorKind::usage, [&] { FrameServer({.address = address, .security = security}, echo); });
    EXPECT_EQ(asking, answering);
    return asking;
  };
  EXPECT_THAT(refuse("127.0.0.1:0", {}), HasSubstr("token"));
  for (const char* address :
       {"0.0.0.0:0", "[::]:0", "10.0.0.1:80", "127.0.0.1.example:80", "host:1"}) {
    EXPECT_THAT(refuse(address, {.token = "t"}), HasSubstr("certificates"));
  }
  EXPECT_THAT(refuse("127.0.0.1:0", {.token = "t", .key = "k"}), HasSubstr("all required"));
}

TEST(Transport, MutualCertificates) {
  testing::Authority ours, theirs;
  FrameServer server({.address = "0.0.0.0:0", .security = ours.certify("server")},
                     [](const Peer& peer, Frame, Answer& answer) { answer(frame_of(peer.name)); });
  Network network;
  const auto ask = [&](Security security, Milliseconds time) {
    security.name = "server";
    Connection connection(network, {.address = address_of(server.port()), .security = security});
    return connection.ask(frame_of("who am I?"), in(time)).payload.text();
  };
  EXPECT_EQ(ask(ours.certify("trainer"), kLong), "trainer");
  const Milliseconds soon(100);
  EXPECT_THROW(ask(theirs.certify("trainer"), soon), Unavailable);
  Security mixed = theirs.certify("trainer");
  mixed.authority = ours.certify("server").authority;  // trusts our server, which does not trust it
  EXPECT_THROW(ask(mixed, soon), Unavailable);
  EXPECT_THROW(ask({.token = "t"}, soon), Unavailable);  // not encrypted
  EXPECT_EQ(server.statistics().requests, 1u);
}

// What a stream brings that is no request ends it, and nothing else.
class Broken : public ::testing::Test {
 protected:
  // Writes these messages, ends the stream after this many answers, and returns its status.
  grpc::Status write(const std::vector<std::string>& messages, std::size_t answers = 1000) {
    const auto channel =
        grpc::CreateChannel(ends_.connection->address(), grpc::InsecureChannelCredentials());
    const Method method("/trireme.Transport/Frames", channel, true);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kLong);
    context.AddMetadata("authorization", "open sesame");
    const auto stream = method.open(&context);
    for (const std::string& message : messages) stream->Write({message});
    Message answer;
    answers_.clear();
    while (answers_.size() < answers && stream->Read(&answer)) answers_.push_back(answer.bytes);
    stream->WritesDone();
    return stream->Finish();
  }
  static std::string bytes(std::uint32_t request, const std::string& text) {
    Frame frame = frame_of(text);
    frame.header.request = request;
    const auto header = encode_header(frame.header, text.size(), checksum_of(frame.payload));
    return std::string(reinterpret_cast<const char*>(header.data()), header.size()) + text;
  }
  static Frame decode(const std::string& bytes) { return decode_frame(Payload(bytes)).frame; }

  Ends ends_{echo, {.largest_frame = 100000}};
  std::vector<std::string> answers_;
};

TEST_F(Broken, MalformedTruncatedAndOversized) {
  const std::string good = bytes(1, "good");
  const std::vector<std::string> bad = {"",
                                        "no frame at all",
                                        std::string(60, 'x'),
                                        good.substr(0, 40),
                                        good.substr(0, 50),
                                        good + "!",
                                        bytes(1, std::string(100000, 'x'))};
  for (const std::string& message : bad) {
    EXPECT_EQ(write({message}).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << message.size();
  }
  EXPECT_EQ(ends_.server->statistics().malformed, bad.size());
  // Far beyond the limit it is not even read.
  EXPECT_EQ(write({bytes(1, std::string(1000000, 'x'))}).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ends_.server->statistics().requests, 0u);
  EXPECT_EQ(ends_.ask("still there"), "still there");
}

TEST_F(Broken, Replayed) {
  EXPECT_EQ(write({bytes(1, "a"), bytes(2, "b"), bytes(2, "b")}).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(write({bytes(7, "from another stream")}).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ends_.server->statistics().replayed, 2u);
  EXPECT_EQ(ends_.server->statistics().requests, 2u);
}

TEST_F(Broken, DamagedOnTheWayIsRefusedAndTheStreamGoesOn) {
  std::string damaged = bytes(1, "damaged");
  damaged.back() = 'D';
  EXPECT_TRUE(write({damaged, bytes(2, "good")}, 2).ok());
  ASSERT_EQ(answers_.size(), 2u);
  std::sort(answers_.begin(), answers_.end(), [](const auto& a, const auto& b) {
    return decode(a).header.request < decode(b).header.request;
  });
  EXPECT_EQ(decode(answers_[0]).header.code, Code::corrupt);
  EXPECT_EQ(decode(answers_[1]).payload.text(), "good");
  EXPECT_EQ(ends_.server->statistics().corrupt, 1u);
}

TEST_F(Broken, AStreamThatGoesAwayIsCounted) {
  {
    Connection other(ends_.network, {.address = ends_.connection->address(),
                                     .security = {.token = "open sesame"}});
    other.ask(frame_of("hello"), in(kLong));
  }
  const auto until = in(kLong);
  while (ends_.server->statistics().broken == 0 && std::chrono::steady_clock::now() < until) {
    ends_.ask("is it gone?");
  }
  EXPECT_EQ(ends_.server->statistics().broken, 1u);
}

TEST(Transport, AStreamHasOnlySoMuchUnderWay) {
  Door door;
  Ends ends(
      [&](const Peer&, Frame request, Answer& answer) {
        door.wait();
        answer(std::move(request));
      },
      {.threads = 10, .requests = 3}, {.depth = 20});
  std::vector<Pending> pending;
  for (int i = 0; i < 20; ++i) pending.push_back(ends.connection->send(frame_of("?"), in(kLong)));
  EXPECT_THROW(ends.connection->send(frame_of("the 21st"), in(Milliseconds(30))), Unavailable);
  ASSERT_TRUE(door.wait_for(3));
  EXPECT_GE(ends.server->statistics().full, 1u);
  EXPECT_EQ(door.waiting(), 3);
  door.open();
  for (Pending& each : pending) EXPECT_EQ(each.get().payload.text(), "?");
}

// Fault 17: answers were queued without limit while a client on a slow link sent more requests.
TEST(Transport, AnswersThatTheNetworkDoesNotTakeAreLimited) {
  constexpr int kRequests = 200;
  constexpr std::size_t kSize = 90000;
  std::atomic<int> handled = 0;
  Ends ends(
      [&](const Peer&, Frame, Answer& answer) {
        ++handled;
        answer(frame_of(std::string(kSize, 'x')));
      },
      {.answer_bytes = 4 * kSize});
  const auto channel =
      grpc::CreateChannel(ends.connection->address(), grpc::InsecureChannelCredentials());
  const Method method("/trireme.Transport/Frames", channel, true);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLong);
  context.AddMetadata("authorization", "open sesame");
  const auto stream = method.open(&context);
  for (int i = 1; i <= kRequests; ++i) {
    Frame frame = frame_of("?");
    frame.header.request = static_cast<std::uint32_t>(i);
    const auto header = encode_header(frame.header, 1, checksum_of(frame.payload));
    ASSERT_TRUE(stream->Write(
        {std::string(reinterpret_cast<const char*>(header.data()), header.size()) + "?"}));
  }
  // Without a limit all are handled at once.
  for (const Deadline until = in(Milliseconds(1000));
       handled < kRequests && Clock::now() < until;) {
    std::this_thread::sleep_for(Milliseconds(5));
  }
  EXPECT_GE(handled, 4);
  EXPECT_LT(handled, 100) << "besides those that gRPC keeps";
  EXPECT_LE(ends.server->statistics().waiting, (4 + 16 + 1) * (kSize + kHeaderBytes));
  EXPECT_GE(ends.server->statistics().full, 1u);
  int answers = 0;
  for (Message answer; answers < kRequests && stream->Read(&answer);) ++answers;
  EXPECT_EQ(answers, kRequests) << "a slow client gets on";
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(ends.server->statistics().waiting, 0u);
}

// Fault 18: two threads ran the handlers of a parameter server, whatever the machine.
TEST(Transport, AsManyHandlersAsProcessors) {
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(Ends(echo).server->threads(), CPU_COUNT(&all));
  EXPECT_EQ(Ends(echo, {.threads = 5}).server->threads(), 5);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(Ends(echo).server->threads(), 1);
  EXPECT_EQ(Ends(echo).ask("?"), "?");
  ::sched_setaffinity(0, sizeof all, &all);
}

TEST(Transport, WhatIsPutAsideDoesNotHoldOthersUp) {
  std::mutex mutex;
  std::vector<Answer> aside;
  Ends ends(
      [&](const Peer&, Frame request, Answer& answer) {
        if (request.payload.text() != "later") return answer(std::move(request));
        answer.put_aside();
        const std::lock_guard lock(mutex);
        aside.push_back(std::move(answer));
      },
      {.requests = 1});
  std::vector<Pending> pending;
  for (int i = 0; i < 4; ++i)
    pending.push_back(ends.connection->send(frame_of("later"), in(kLong)));
  EXPECT_EQ(ends.ask("now"), "now");
  const auto all_aside = [&] {
    const std::lock_guard lock(mutex);
    return aside.size() == 4;
  };
  while (!all_aside()) EXPECT_EQ(ends.ask("now"), "now");
  {
    const std::lock_guard lock(mutex);
    for (Answer& answer : aside) answer(frame_of("at last"));
    aside.clear();
  }
  for (Pending& each : pending) EXPECT_EQ(each.get().payload.text(), "at last");
}

TEST(Transport, WhatAHandlerThrowsIsTheAnswer) {
  Ends ends([](const Peer&, Frame request, Answer& answer) {
    const std::string text = request.payload.text();
    if (text == "usage") throw Error(ErrorKind::usage, "your mistake");
    if (text == "io") throw Error(ErrorKind::io, "my mistake");
    if (text == "std") throw std::runtime_error("unknown");
    if (text == "twice") answer(frame_of("first"));
    if (text == "twice") throw Error(ErrorKind::io, "second");
  });
  const auto ask = [&](const std::string& text) {
    const Frame answer = ends.connection->ask(frame_of(text), in(kLong));
    return std::string(name_of(answer.header.code)) + ": " + answer.payload.text();
  };
  EXPECT_EQ(ask("usage"), "refused: your mistake");
  EXPECT_EQ(ask("io"), "failed: my mistake");
  EXPECT_EQ(ask("std"), "failed: unknown");
  EXPECT_EQ(ask("silence"), "failed: the server gave no answer");
  EXPECT_EQ(ask("twice"), "ok: first");
}

TEST(Transport, StopLetsWhatIsUnderWayBeAnswered) {
  Door door;
  Ends ends([&](const Peer&, Frame request, Answer& answer) {
    door.wait();
    answer(std::move(request));
  });
  Pending pending = ends.connection->send(frame_of("finish me"), in(kLong));
  ASSERT_TRUE(door.wait_for(1));
  std::thread stops([&] { ends.server->stop(in(kLong)); });
  Connection late(ends.network,
                  {.address = ends.connection->address(), .security = {.token = "open sesame"}});
  door.open();
  EXPECT_EQ(pending.get().payload.text(), "finish me");
  stops.join();
  EXPECT_THROW(late.ask(frame_of("too late"), in(Milliseconds(50))), Unavailable);
}

TEST(Transport, AnswersAfterTheEndAreDropped) {
  std::promise<Answer> promise;
  std::optional<Ends> ends;
  ends.emplace([&](const Peer&, Frame, Answer& answer) { promise.set_value(std::move(answer)); });
  Pending pending = ends->connection->send(frame_of("?"), in(kLong));
  Answer answer = promise.get_future().get();
  ends->server.reset();
  EXPECT_THROW(pending.get(), Unavailable);
  answer(frame_of("!"));
  ends.reset();
}

TEST(Transport, AddressThatIsTaken) {
  const FrameServer first({.security = {.token = "t"}}, echo);
  EXPECT_THAT(error_of(ErrorKind::io,
                       [&] {
                         FrameServer(
                             {.address = address_of(first.port()), .security = {.token = "t"}},
                             echo);
                       }),
              HasSubstr("cannot be listened on"));
}

}  // namespace
}  // namespace trireme::distributed
