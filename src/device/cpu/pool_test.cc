#include "device/cpu/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "device/cpu/threads.h"
#include "trireme/error.h"

namespace trireme::device {
namespace {

// Every iteration is run exactly once, by whichever thread; a thread runs one range at a time.
void expect_covers(Device& device, std::int64_t count, std::int64_t grain) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
  std::vector<std::atomic<int>> busy(static_cast<std::size_t>(device.threads()));
  std::atomic<bool> overlapped{false};
  device.run(count, grain, true, [&](std::int64_t begin, std::int64_t end, int thread) {
    if (busy[static_cast<std::size_t>(thread)].fetch_add(1) != 0) overlapped = true;
    for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    busy[static_cast<std::size_t>(thread)].fetch_sub(1);
  });
  EXPECT_FALSE(overlapped);
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& n) { return n == 1; }))
      << count << " by " << grain;
}

TEST(Pool, CoversEveryRange) {
  for (const int threads : {1, 2, 3, 8}) {
    const auto device = make_cpu_device(threads);
    EXPECT_EQ(device->threads(), threads);
    for (const std::int64_t count : {0, 1, 2, 3, 7, 64, 1000, 4097}) {
      for (const std::int64_t grain : {0, 1, 3, 100, 5000}) expect_covers(*device, count, grain);
    }
  }
}

TEST(Pool, ManyShortJobsOneAfterAnother) {
  for (const bool may_spin : {true, false}) {
    Pool pool(4, may_spin);
    std::vector<std::int64_t> sums(64, 0);  // plain memory: a missed wait is a race
    for (int round = 0; round < 2000; ++round) {
      pool.run(64, 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) sums[static_cast<std::size_t>(i)] += i;
      });
    }
    for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(sums[static_cast<std::size_t>(i)], 2000 * i);
  }
}

TEST(Pool, WorksAfterItsThreadsFellAsleep) {
  Pool pool(2, true);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<int> calls{0};
    pool.run(2, 1, [&](std::int64_t begin, std::int64_t end, int) {
      calls += static_cast<int>(end - begin);
    });
    EXPECT_EQ(calls, 2);
  }
}

TEST(Pool, RethrowsAndStaysUsable) {
  const auto device = make_cpu_device(3);
  for (int round = 0; round < 100; ++round) {
    EXPECT_THROW(device->run(100, 1, true,
                             [](std::int64_t begin, std::int64_t end, int) {
                               if (begin <= 57 && 57 < end) throw std::runtime_error("no");
                             }),
                 std::runtime_error);
    expect_covers(*device, 100, 1);
  }
}

TEST(Device, RunsInTheCallerWhenNotParallel) {
  const auto device = make_cpu_device(4);
  const std::thread::id caller = std::this_thread::get_id();
  int calls = 0;
  device->run(1000, 1, false, [&](std::int64_t begin, std::int64_t end, int thread) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 1000);
    EXPECT_EQ(thread, 0);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST(Device, MemoryIsAlignedAndKept) {
  const auto device = make_cpu_device(1);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{5} << 20}) {
    void* memory = device->allocate(bytes);
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    EXPECT_EQ(address % (bytes > (4u << 20) ? 2u << 20 : 64u), 0u);
    std::memset(memory, 1, bytes);
    device->release(memory, bytes);
    EXPECT_EQ(device->allocate(bytes), memory);
    device->release(memory, bytes);
  }
}

TEST(Device, SaysHowMuchMemoryWasWanted) {
  const auto device = make_cpu_device(1);
  try {
    device->allocate(std::size_t{1} << 60);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(std::string(error.what()).find("1152921504606846976 bytes"), std::string::npos);
  }
}

class ThreadsVariable : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* old = std::getenv("TRIREME_NUM_THREADS")) old_ = old;
  }
  void TearDown() override {
    if (old_.empty()) {
      unsetenv("TRIREME_NUM_THREADS");
    } else {
      setenv("TRIREME_NUM_THREADS", old_.c_str(), 1);
    }
  }
  std::string old_;
};

TEST_F(ThreadsVariable, IsReadAndChecked) {
  setenv("TRIREME_NUM_THREADS", "3", 1);
  EXPECT_EQ(make_cpu_device()->threads(), 3);
  EXPECT_EQ(make_cpu_device(2)->threads(), 2);  // what the program says counts more
  for (const char* wrong : {"0", "-1", "two", "1.5", "4 ", "100000"}) {
    setenv("TRIREME_NUM_THREADS", wrong, 1);
    EXPECT_THROW(make_cpu_device(), Error) << wrong;
  }
  unsetenv("TRIREME_NUM_THREADS");
  EXPECT_EQ(make_cpu_device()->threads(), available_processors());
  EXPECT_THROW(make_cpu_device(-1), Error);
}

}  // namespace
}  // namespace trireme::device
