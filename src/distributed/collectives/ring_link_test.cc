#include "distributed/collectives/ring_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <thread>

#include "base/testing/error.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;
using Clock = RingLink::Clock;

Clock::time_point in(int ms) { return Clock::now() + std::chrono::milliseconds(ms); }

// Connects `members` links to a ring, each used by a thread.
void run(int members, const std::function<void(RingLink& link, int member)>& work) {
  std::vector<std::unique_ptr<RingLink>> links;
  for (int i = 0; i < members; ++i) links.push_back(std::make_unique<RingLink>("", "127.0.0.1"));
  std::vector<std::thread> threads;
  for (int i = 0; i < members; ++i) {
    threads.emplace_back([&, i] {
      RingLink& link = *links[static_cast<std::size_t>(i)];
      link.connect(links[static_cast<std::size_t>((i + 1) % members)]->address(), "token",
                   in(5000));
      work(link, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::uint32_t> numbers(int seed, std::size_t count) {
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  std::vector<std::uint32_t> values(count);
  for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(random());
  return values;
}

int connect_to(const std::string& address) {
  const Endpoint endpoint = parse_endpoint(address).value();
  const int socket = ::socket(endpoint.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::connect(socket, &endpoint.any, endpoint.size), 0);
  return socket;
}

// More than a connection buffers is sent before any member reads.
TEST(RingLink, BytesArriveInOrderWhileAllSend) {
  constexpr std::size_t kCount = 3'000'000;
  for (const int members : {2, 3}) {
    run(members, [&](RingLink& link, int member) {
      const std::vector<std::uint32_t> own = numbers(member, kCount);
      std::vector<std::uint32_t> heard(kCount);
      std::mt19937 random(7);
      for (std::size_t at = 0; at < kCount;) {  // in pieces of any size
        const std::size_t count = std::min<std::size_t>(random() % 300'000, kCount - at);
        link.send(own.data() + at, count * 4);
        at += count;
      }
      for (std::size_t at = 0; at < kCount;) {
        const std::size_t count = std::min<std::size_t>(random() % 200'000, kCount - at);
        link.receive(heard.data() + at, count * 4, in(60000));
        at += count;
      }
      link.flush(in(60000));
      EXPECT_EQ(heard, numbers((member + members - 1) % members, kCount));
    });
  }
}

TEST(RingLink, WhoDoesNotKnowTheTokenIsLetGo) {
  int refused = 0;
  RingLink first("", "127.0.0.1", [&] { ++refused; }), second("", "127.0.0.1");
  std::vector<int> unauthenticated_peers;
  for (int i = 0; i < 40; ++i) {  // most say nothing, some say something else, or too little
    unauthenticated_peers.push_back(connect_to(first.address()));
    const std::string says = i % 3 == 0 ? "tokem" : i % 3 == 1 ? "tok" : "";
    EXPECT_EQ(::send(unauthenticated_peers.back(), says.data(), says.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(says.size()));
  }
  std::thread other([&] { second.connect(first.address(), "token", in(5000)); });
  first.connect(second.address(), "token", in(5000));
  other.join();
  EXPECT_EQ(refused, 40);
  char byte = 7;
  for (const int stranger : unauthenticated_peers) {
    EXPECT_LE(::recv(stranger, &byte, 1, 0), 0);
    ::close(stranger);
  }
  EXPECT_EQ(byte, 7);
  const char sent = 'a';
  second.send(&sent, 1);
  second.flush(in(5000));
  first.receive(&byte, 1, in(5000));
  EXPECT_EQ(byte, 'a');
}

TEST(RingLink, WhatDoesNotComeInTimeIsAnError) {
  RingLink alone("", "127.0.0.1"), next("", "127.0.0.1");
  EXPECT_THAT(error_of(ErrorKind::io, [&] { alone.connect(next.address(), "token", in(50)); }),
              HasSubstr("has not connected in time"));
  run(2, [](RingLink& link, int) {
    char byte = 0;
    EXPECT_THAT(error_of(ErrorKind::io, [&] { link.receive(&byte, 1, in(50)); }),
                HasSubstr("no answer in time"));
  });
  run(2, [](RingLink& link, int) {  // no member reads
    const std::vector<char> much(64 << 20);
    link.send(much.data(), much.size());
    EXPECT_THAT(error_of(ErrorKind::io, [&] { link.flush(in(300)); }),
                HasSubstr("no answer in time"));
  });
}

TEST(RingLink, AnAddressWhereNobodyListensIsAnError) {
  RingLink link("", "127.0.0.1");
  for (const char* address : {"", "-", "nonsense", "127.0.0.1", "127.0.0.1:0"}) {
    EXPECT_THAT(error_of(ErrorKind::io, [&] { link.connect(address, "token", in(50)); }),
                HasSubstr("says that it listens at"));
  }
  const std::string gone = RingLink("", "127.0.0.1").address();
  RingLink caller("", "127.0.0.1");
  EXPECT_THAT(error_of(ErrorKind::io, [&] { caller.connect(gone, "token", in(5000)); }),
              HasSubstr("Connection refused"));
  EXPECT_THAT(error_of(ErrorKind::io, [] { const RingLink nowhere("", "203.0.113.7"); }),
              HasSubstr("cannot listen at 203.0.113.7"));
}

TEST(RingLink, WhoWaitsIsWokenWhenItIsClosed) {
  run(2, [](RingLink& link, int member) {
    char byte = 0;
    std::thread other;
    if (member == 0) {
      other = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        link.close();
      });
    }
    EXPECT_THAT(error_of(ErrorKind::io, [&] { link.receive(&byte, 1, in(20000)); }),
                HasSubstr("has ended"));
    if (other.joinable()) other.join();
  });
}

// The data that it sent before still arrives.
TEST(RingLink, WhoEndsIsHeardOf) {
  auto first = std::make_unique<RingLink>("", "127.0.0.1");
  RingLink second("", "127.0.0.1");
  std::thread other([&] {
    first->connect(second.address(), "token", in(5000));
    const char last = 'z';
    first->send(&last, 1);
    first->flush(in(5000));
  });
  second.connect(first->address(), "token", in(5000));
  other.join();
  first.reset();
  char byte = 0;
  second.receive(&byte, 1, in(5000));
  EXPECT_EQ(byte, 'z');
  EXPECT_THAT(error_of(ErrorKind::io, [&] { second.receive(&byte, 1, in(5000)); }),
              HasSubstr("from the member before has ended"));
  const std::vector<char> much(1 << 20);
  EXPECT_THAT(error_of(ErrorKind::io,
                       [&] {
                         for (int i = 0; i < 100; ++i) {
                           second.send(much.data(), much.size());
                           second.flush(in(5000));
                         }
                       }),
              HasSubstr("to the next member has ended"));
}

}  // namespace
}  // namespace trireme::distributed
