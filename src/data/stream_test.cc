// Data sets that can only be read forward.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>

#include "base/testing/error.h"
#include "data/testing/counting.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Places = std::vector<std::int64_t>;

// Numbers from 0, in batches of 1, 2, 3, 1 and so on; endless if `count` is 0. Counts how often it
// was opened.
struct CountingStream {
  std::int64_t count = 0;
  std::shared_ptr<std::atomic<int>> opened = std::make_shared<std::atomic<int>>(0);

  StreamReader operator()() const {
    ++*opened;
    return [count = count, next = std::int64_t{0},
            size = std::int64_t{0}]() mutable -> std::optional<Batch> {
      size = size % 3 + 1;
      const std::int64_t end = count > 0 ? std::min(next + size, count) : next + size;
      if (next == end) return std::nullopt;
      Places ids(static_cast<std::size_t>(end - next));
      std::iota(ids.begin(), ids.end(), next);
      const auto n = static_cast<std::int64_t>(ids.size());
      next = end;
      return Batch{{"id", Tensor::from<std::int64_t>({n}, ids)}};
    };
  }
};

Places streamed(const Batches& batches, std::int64_t epoch, std::int64_t first = 0) {
  Places ids;
  for (const Batch& batch : batches.epoch(epoch, first)) {
    const Places part = batch.at("id").to_vector<std::int64_t>();
    ids.insert(ids.end(), part.begin(), part.end());
  }
  return ids;
}

Places numbers(std::int64_t begin, std::int64_t end) {
  Places all(static_cast<std::size_t>(end - begin));
  std::iota(all.begin(), all.end(), begin);
  return all;
}

TEST(Stream, IsReadFromTheBeginningInEveryEpoch) {
  const CountingStream stream{.count = 23};
  const Dataset data = from_stream(stream, {.class_names = {"a"}});
  EXPECT_EQ(data.size(), 23) << "counted";
  EXPECT_EQ(data.columns().size(), 1u);
  EXPECT_THAT(data.class_names(), ElementsAre("a"));
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(streamed(data.batch(5), epoch), numbers(0, 23));
  }
  EXPECT_EQ(*stream.opened, 1 + 3);
  EXPECT_EQ(streamed(data.batch(5, {.drop_last = true}), 1), numbers(0, 20));
  EXPECT_EQ(streamed(data.take(7).batch(5), 1), numbers(0, 7));
  EXPECT_EQ(from_stream(stream, {.examples = 10}).all().at("id").dim(0), 10);
}

TEST(Stream, WithoutAnEndGoesOn) {
  const CountingStream stream;
  const Dataset data = from_stream(stream, {.examples = 10, .endless = true});
  EXPECT_EQ(streamed(data.batch(4), 0), numbers(0, 10));
  EXPECT_EQ(streamed(data.batch(4), 1), numbers(10, 20));
  EXPECT_EQ(streamed(data.batch(4), 2), numbers(20, 30));
  EXPECT_EQ(*stream.opened, 2) << "once for the columns";
  EXPECT_EQ(streamed(data.batch(4), 1), numbers(10, 20)) << "as after a restart";
}

TEST(Stream, ShuffleBufferIsARandomOrderBySeedAndEpoch) {
  const CountingStream stream{.count = 200};
  const Dataset data = from_stream(stream, {.shuffle_buffer = 20, .seed = 3});
  const Places first = streamed(data.batch(16), 0), second = streamed(data.batch(16), 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, streamed(from_stream(stream, {.shuffle_buffer = 20, .seed = 3}).batch(7), 0));
  EXPECT_NE(first, streamed(from_stream(stream, {.shuffle_buffer = 20, .seed = 4}).batch(7), 0));
  for (const Places& order : {first, second}) {
    Places sorted = order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, numbers(0, 200));
    for (std::int64_t i = 0; i < 200; ++i) {
      EXPECT_LE(order[static_cast<std::size_t>(i)], i + 19) << "not yet in the buffer";
    }
  }
  // Of three examples in a buffer of two, each of the first two comes first in half of the epochs:
  // a binomial with a standard deviation of 22, of which 5 are exceeded once in a million.
  const Dataset three = from_stream(CountingStream{.count = 3}, {.shuffle_buffer = 2});
  int zero_first = 0;
  for (std::int64_t epoch = 0; epoch < 2000; ++epoch) {
    zero_first += three.gather(Places{0}, epoch).at("id").item<std::int64_t>() == 0 ? 1 : 0;
  }
  EXPECT_NEAR(zero_first, 1000, 112);
}

TEST(Stream, ResumesWithinAnEpoch) {
  for (const bool endless : {false, true}) {
    const StreamOptions options{.examples = 40, .endless = endless, .shuffle_buffer = 8, .seed = 1};
    const CountingStream stream{.count = endless ? 0 : 40};
    const Places whole = streamed(from_stream(stream, options).batch(6), 2);
    const Places rest = streamed(from_stream(stream, options).batch(6), 2, 4);
    EXPECT_EQ(rest, Places(whole.begin() + 24, whole.end()));
  }
}

TEST(Stream, ThreadsAndNumberedBatchesSeeTheSameBatches) {
  const CountingStream stream{.count = 500};
  const Dataset data = from_stream(stream, {.shuffle_buffer = 50});
  const Places whole = streamed(data.batch(8, {.prefetch = false}), 1);
  const int before = *stream.opened;
  EXPECT_EQ(streamed(data.batch(8, {.threads = 4}), 1), whole);
  EXPECT_LE(*stream.opened, before + 1) << "threads read one stream";
  const NumberedBatches numbered = data.batch(8).numbered(1);
  for (const std::int64_t number : {30, 2, 61}) {
    const Places part = numbered.at(number).at("id").to_vector<std::int64_t>();
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 8 * number)) << number;
  }
}

TEST(Stream, CacheMakesItADataSet) {
  const CountingStream stream{.count = 30};
  const Dataset kept = from_stream(stream).cache();
  const int before = *stream.opened;
  EXPECT_FALSE(kept.is_forward_only());
  Places shuffled = streamed(kept.shuffle(2).batch(7), 4);
  EXPECT_NE(shuffled, numbers(0, 30));
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, numbers(0, 30));
  EXPECT_EQ(*stream.opened, before);
}

TEST(Stream, MapsAndHoldsSequences) {
  const auto open = [] {
    return [next = std::int64_t{0}]() mutable -> std::optional<Batch> {
      if (next == 5) return std::nullopt;
      Batch batch;
      RaggedTensor::from(std::vector<Places>{numbers(0, next++)}).add_to(batch, "words");
      return batch;
    };
  };
  const Dataset data = from_stream(open);
  const Batch all = data.all();
  EXPECT_THAT(all.at("words.splits").to_vector<std::int64_t>(), ElementsAre(0, 0, 1, 3, 6, 10));
  EXPECT_EQ(data.gather(Places{}).at("words.splits").dim(0), 1);
  const Dataset doubled = from_stream(CountingStream{.count = 6}).map([](Batch batch) {
    for (std::int64_t i = 0; i < batch.at("id").dim(0); ++i) {
      batch.at("id").data<std::int64_t>()[i] *= 2;
    }
    return batch;
  });
  EXPECT_TRUE(doubled.is_forward_only());
  EXPECT_EQ(streamed(doubled.batch(4), 0), Places({0, 2, 4, 6, 8, 10}));
}

TEST(Stream, ReportsWhatDoesNotFit) {
  const CountingStream stream{.count = 5};
  const auto usage = [](const auto& f) { return error_of(ErrorKind::usage, f); };
  const auto wrong = [](const auto& f) { return error_of(ErrorKind::data, f); };
  EXPECT_THAT(usage([&] { from_stream(stream, {.endless = true}); }),
              HasSubstr("needs StreamOptions::examples"));
  EXPECT_THAT(usage([&] { from_stream(stream, {.shuffle_buffer = -1}); }),
              HasSubstr("must be at least 0"));
  EXPECT_THAT(usage([&] { from_stream(stream).shuffle(1); }), HasSubstr("shuffle: a stream"));
  EXPECT_THAT(usage([&] { from_stream(stream).k_fold(2); }), HasSubstr("k_fold: a stream"));
  EXPECT_THAT(usage([&] { concatenate({from_stream(stream)}); }), HasSubstr("read forward"));
  const auto nothing = [] { return [] { return std::optional<Batch>(); }; };
  EXPECT_THAT(wrong([&] { from_stream(nothing); }), HasSubstr("has no examples"));
  EXPECT_THAT(wrong([&] { from_stream(stream, {.examples = 6}).all(); }),
              HasSubstr("ended after 5 examples, but an epoch has 6"));
  const auto changing = [] {
    return [next = 0]() mutable -> std::optional<Batch> {
      return Batch{{"x", Tensor(f32, {1, ++next})}};
    };
  };
  EXPECT_THAT(wrong([&] { from_stream(changing, {.examples = 3}).all(); }),
              HasSubstr("example 1: column \"x\" is f32[2], not f32[1]"));
  const auto empty = [] {
    return [] { return std::optional<Batch>(Batch{{"x", Tensor(f32, {0})}}); };
  };
  EXPECT_THAT(wrong([&] { from_stream(empty, {.examples = 3}); }),
              HasSubstr("a batch without examples"));
}

}  // namespace
}  // namespace trireme::data
