// Groups whose members are threads of this process, with an in-memory store.
#include "distributed/collectives/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <future>
#include <numeric>
#include <random>
#include <thread>

#include "base/testing/error.h"
#include "distributed/collectives/testing/ranks.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;
using testing::run_ranks;

template <class T>
std::vector<T> values_of(int rank, std::size_t count) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) * 1000 + count);
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(random());
    } else {
      value = static_cast<T>(std::ldexp(static_cast<double>(random() >> 40U) - 0x1p23,
                                        static_cast<int>(random() % 30U) - 40));
    }
  }
  return values;
}

// Zero, one and few elements, several segments, and sizes that are not divisible.
constexpr std::size_t kSizes[] = {0, 1, 2, 3, 5, 1023, 65536, 300007};

// All ranks must have the same bits afterwards, close to the sum in long double.
template <class T>
void expect_reduced(int ranks, std::size_t count, Reduction how,
                    const std::vector<std::vector<T>>& results) {
  std::vector<std::vector<T>> inputs;
  for (int rank = 0; rank < ranks; ++rank) inputs.push_back(values_of<T>(rank, count));
  for (const std::vector<T>& result : results) {
    ASSERT_EQ(result.size(), count);
    if (count > 0) {
      ASSERT_EQ(std::memcmp(result.data(), results[0].data(), count * sizeof(T)), 0);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      std::uint64_t sum = 0;
      for (const auto& input : inputs) sum += static_cast<std::uint64_t>(input[i]);
      ASSERT_EQ(static_cast<std::uint64_t>(results[0][i]), sum);
    } else {
      long double sum = 0, size = 0;
      for (const auto& input : inputs) {
        sum += static_cast<long double>(input[i]);
        size += std::abs(static_cast<long double>(input[i]));
      }
      if (how == Reduction::mean) sum /= ranks;
      const long double bound = size * std::numeric_limits<T>::epsilon() * ranks;
      ASSERT_LE(std::abs(static_cast<long double>(results[0][i]) - sum), bound) << i;
    }
  }
}

template <class T>
void reduce_all_sizes(int ranks, Reduction how) {
  std::vector<std::vector<std::vector<T>>> results(
      std::size(kSizes), std::vector<std::vector<T>>(static_cast<std::size_t>(ranks)));
  run_ranks(ranks, [&](Group& group) {
    for (std::size_t size = 0; size < std::size(kSizes); ++size) {
      std::vector<T> values = values_of<T>(group.rank(), kSizes[size]);
      if constexpr (std::is_integral_v<T>) {
        group.all_reduce(std::span<T>(values));
      } else {
        group.all_reduce(std::span<T>(values), how);
      }
      results[size][static_cast<std::size_t>(group.rank())] = std::move(values);
    }
  });
  for (std::size_t size = 0; size < std::size(kSizes); ++size) {
    expect_reduced(ranks, kSizes[size], how, results[size]);
  }
}

TEST(Group, AllReduceGivesAllRanksTheSameBits) {
  for (const int ranks : {1, 2, 3, 4}) reduce_all_sizes<float>(ranks, Reduction::sum);
  reduce_all_sizes<float>(3, Reduction::mean);
  reduce_all_sizes<double>(4, Reduction::mean);
  reduce_all_sizes<double>(3, Reduction::sum);
  reduce_all_sizes<std::int64_t>(3, Reduction::sum);
}

TEST(Group, AllReduceOfMoreThanMayBeOnItsWay) {
  run_ranks(4, [](Group& group) {
    std::vector<float> values(3'000'001);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i % 7) * static_cast<float>(group.rank() + 1);
    }
    group.all_reduce(std::span<float>(values));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      wrong += values[i] == static_cast<float>(i % 7 * 10) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0U);
  });
}

TEST(Group, AllReduceGivesTheSameBitsAgain) {
  std::vector<std::vector<float>> results;
  std::mutex mutex;
  for (int again = 0; again < 3; ++again) {
    run_ranks(3, [&](Group& group) {
      for (int i = 0; i < 2; ++i) {
        std::vector<float> values = values_of<float>(group.rank(), 300007);
        group.all_reduce(std::span<float>(values), Reduction::mean);
        const std::lock_guard lock(mutex);
        results.push_back(std::move(values));
      }
    });
  }
  ASSERT_EQ(results.size(), 18U);
  for (const auto& result : results) {
    EXPECT_EQ(std::memcmp(result.data(), results[0].data(), result.size() * sizeof(float)), 0);
  }
}

TEST(Group, BroadcastGivesWhatTheRootHas) {
  for (const int ranks : {1, 2, 3, 5}) {
    run_ranks(ranks, [&](Group& group) {
      for (const std::size_t bytes : {0U, 1U, 1000003U}) {
        for (int root = 0; root < ranks; ++root) {
          std::vector<std::byte> data(bytes, static_cast<std::byte>(group.rank() + 1));
          group.broadcast(data, root);
          EXPECT_EQ(data, std::vector<std::byte>(bytes, static_cast<std::byte>(root + 1)));
        }
      }
    });
  }
}

TEST(Group, AllGatherGivesThePartsOfAll) {
  for (const int ranks : {1, 2, 3, 4}) {
    run_ranks(ranks, [&](Group& group) {
      for (const std::size_t bytes : {0U, 1U, 70001U}) {
        const std::vector<std::byte> own(bytes, static_cast<std::byte>(group.rank() + 1));
        std::vector<std::byte> all(bytes * static_cast<std::size_t>(ranks)), expected;
        group.all_gather(own, all);
        for (int rank = 0; rank < ranks; ++rank) {
          expected.insert(expected.end(), bytes, static_cast<std::byte>(rank + 1));
        }
        EXPECT_EQ(all, expected);
      }
    });
  }
}

TEST(Group, NobodyPassesABarrierBeforeAllAreThere) {
  for (const int ranks : {2, 3, 4}) {
    std::atomic<int> arrived = 0;
    run_ranks(ranks, [&](Group& group) {
      for (int round = 1; round <= 20; ++round) {
        ++arrived;
        group.barrier();
        EXPECT_GE(arrived, round * ranks);
        group.barrier();
      }
    });
  }
}

TEST(Group, AMemberThatIsLateBreaksItForAll) {
  std::atomic<int> broken = 0;
  std::promise<void> over;
  const std::shared_future<void> wait = over.get_future().share();
  run_ranks(3,
            [&](Group& group) {
              if (group.rank() == 2) return wait.wait();
              std::vector<float> values(100000);
              try {
                group.all_reduce(std::span<float>(values));
              } catch (const GroupBroken& error) {
                EXPECT_EQ(error.rank(), group.rank());
                EXPECT_EQ(error.operation(), "all-reduce");
                EXPECT_TRUE(group.broken());
                EXPECT_THROW(group.barrier(), GroupBroken);
              }
              if (++broken == 2) over.set_value();
            },
            {.timeout = Milliseconds(100)});
  EXPECT_EQ(broken, 2);
}

TEST(Group, ThoseWhoCallDifferentThingsGetAnError) {
  std::atomic<int> broken = 0;
  run_ranks(2,
            [&](Group& group) {
              std::vector<float> values(group.rank() == 0 ? 1000 : 1001);
              try {
                group.all_reduce(std::span<float>(values));
              } catch (const GroupBroken&) {
                ++broken;
              }
            },
            {.timeout = Milliseconds(100)});
  EXPECT_EQ(broken, 2);
}

TEST(Group, OneThatIsGivenUpWakesWhoeverWaits) {
  using Clock = std::chrono::steady_clock;
  std::atomic<int> calls = 0;
  run_ranks(2,
            [&](Group& group) {
              std::thread other;
              if (group.rank() == 0) {
                other = std::thread([&] {
                  std::this_thread::sleep_for(Milliseconds(20));
                  group.abort("a member joins");
                });
                EXPECT_THAT(error_of(ErrorKind::io, [&] { group.barrier(); }),
                            HasSubstr("a member joins"));
                other.join();
              } else {
                const auto before = Clock::now();
                while (!group.broken() && Clock::now() < before + Milliseconds(5000)) {
                  std::this_thread::sleep_for(Milliseconds(1));
                }
                EXPECT_THAT(error_of(ErrorKind::io, [&] { group.barrier(); }),
                            HasSubstr("rank 0 is gone"));
              }
            },
            {.on_broken = [&] { ++calls; }});
  EXPECT_EQ(calls, 2);
}

TEST(Group, OneThatLeavesLetsOthersEndWhatTheyDo) {
  run_ranks(4, [&](Group& group) {
    for (int i = 0; i < 3; ++i) group.barrier();
    // Ends here: for some ranks at once, while others may still be in the last barrier.
  });
  run_ranks(2, [&](Group& group) {
    group.barrier();
    if (group.rank() == 0) return;
    const auto until = std::chrono::steady_clock::now() + Milliseconds(5000);
    std::string what;
    while (what.empty() && std::chrono::steady_clock::now() < until) {
      try {
        group.barrier();
      } catch (const GroupBroken& error) {
        what = error.what();
      }
    }
    EXPECT_THAT(what, ::testing::AnyOf(HasSubstr("rank 0 has left"), HasSubstr("rank 0 is gone")));
  });
}

TEST(Group, AMemberThatDoesNotComeIsToldByItsKey) {
  const auto store = make_memory_store();
  const auto form = [&] {
    const Group group(*store, "job/", 3, 0, 2, {.form_timeout = Milliseconds(50)});
  };
  EXPECT_THAT(error_of(ErrorKind::io, form), HasSubstr("no member wrote job/3/1 in time"));
  EXPECT_TRUE(store->list("job/").entries.empty());
  const auto cancelled = [&] {
    const Group group(*store, "job/", 3, 0, 2, {.cancelled = [] { return true; }});
  };
  EXPECT_THAT(error_of(ErrorKind::io, cancelled), HasSubstr("given up"));
}

// A store that returns other bytes than were written: its reader is no member.
class Misread : public Store {
 public:
  explicit Misread(Store& store) : store_(store) {}
  Outcome commit(const Transaction& transaction) override {
    Outcome outcome = store_.commit(transaction);
    for (auto& entries : outcome.got) {
      for (Entry& entry : entries) change(entry);
    }
    return outcome;
  }
  std::int64_t grant(std::int64_t seconds) override { return store_.grant(seconds); }
  bool keep_alive(std::int64_t lease) override { return store_.keep_alive(lease); }
  void revoke(std::int64_t lease) override { store_.revoke(lease); }
  std::unique_ptr<Watch> watch(const std::string& prefix, std::int64_t from) override {
    struct Changed : Watch {
      explicit Changed(std::unique_ptr<Watch> w) : watch(std::move(w)) {}
      Events wait(Milliseconds timeout) override {
        Events events = watch->wait(timeout);
        for (Event& event : events.events) change(event.entry);
        return events;
      }
      std::unique_ptr<Watch> watch;
    };
    return std::make_unique<Changed>(store_.watch(prefix, from));
  }

 private:
  static void change(Entry& entry) {
    if (!entry.value.empty()) entry.value[0] = static_cast<char>(entry.value[0] ^ 1);
  }
  Store& store_;
};

TEST(Group, AStrangerIsNoMember) {
  const auto store = make_memory_store();
  Misread misread(*store);
  std::atomic<int> unauthenticated_peers = 0;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      EXPECT_THAT(
          error_of(ErrorKind::io,
                   [&] {
                     Store& own = rank == 0 ? *store : misread;
                     const Group group(own, "job/", 1, rank, 2, {.on_unauthenticated_peer = [&] {
                                         ++unauthenticated_peers;
                                       }});
                   }),
          ::testing::AnyOf(HasSubstr("an unauthenticated peer answered"), HasSubstr("gone")));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(unauthenticated_peers, 1);
}

TEST(Group, KeysVanishOnceItHasFormed) {
  const auto store = make_memory_store();
  run_ranks(*store, 3, [&](Group& group) { group.barrier(); });
  EXPECT_TRUE(store->list("test/").entries.empty());
}

TEST(Group, WrongArgumentsAreRefusedBeforeAnythingIsSent) {
  const auto store = make_memory_store();
  const auto form = [&](int rank, int size, const GroupOptions& options) {
    const Group group(*store, "job/", 1, rank, size, options);
  };
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { form(2, 2, {}); }), HasSubstr("no rank 2"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { form(0, 2, {.interface = "nosuch0"}); }),
              HasSubstr("no network interface \"nosuch0\""));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { form(0, 2, {.address = "no.such.host"}); }),
              HasSubstr("\"no.such.host\" is no IP address"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { form(0, 2, {.address = "203.0.113.7"}); }),
              HasSubstr("203.0.113.7"));
  run_ranks(2, [&](Group& group) {
    std::vector<std::byte> data(3);
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { group.broadcast(data, 2); }),
                HasSubstr("no rank 2"));
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { group.all_gather(data, data); }),
                HasSubstr("2 members of 3 bytes"));
    group.barrier();  // the group is whole
  });
}

TEST(Group, MayBeBoundToAnInterface) {
  std::atomic<int> sum = 0;
  run_ranks(2,
            [&](Group& group) {
              group.barrier();
              ++sum;
            },
            {.interface = "lo"});
  EXPECT_EQ(sum, 2);
}

}  // namespace
}  // namespace trireme::distributed
