// A recurrence whose counts and splits a program has computed: whatever they are, no step reads or
// writes memory that is not its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/testing/error.h"
#include "plan/testing/recurrence.h"
#include "runtime/executor.h"

namespace trireme::runtime {
namespace {

using plan::Buffer;
using plan::BufferKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// The running sum of each sequence: sum = m + x, with a state of one number for each sequence.
// counts[t] sequences have a row at step t.
std::shared_ptr<plan::Plan> running_sums() {
  const Dim batch("batch"), rows("rows"), active("active"), steps("steps");
  auto block = std::make_shared<plan::Plan>();
  block->symbols = {"active"};
  block->buffers = {{.name = "m", .kind = BufferKind::feed, .shape = {active}},
                    {.name = "x", .kind = BufferKind::feed, .shape = {active}},
                    {.name = "sum", .kind = BufferKind::fetch, .shape = {active}},
                    {.name = "out", .kind = BufferKind::fetch, .shape = {active}}};
  block->kernels.push_back(
      {"add", "", [](void* const* b, const std::int64_t*, std::int64_t begin, std::int64_t end) {
         const auto at = [&](int i) { return static_cast<float*>(b[i]); };
         for (std::int64_t i = begin; i < end; ++i) at(2)[i] = at(3)[i] = at(0)[i] + at(1)[i];
       }});
  plan::Step add{.name = "add", .kernel = 0, .buffers = {0, 1, 2, 3}, .reads = {0, 1}};
  add.writes = {2, 3};
  add.trip = {active, 1};
  add.work = active;
  block->steps = {add};
  block->fetches = {2, 3};

  auto plan = std::make_shared<plan::Plan>();
  plan->symbols = {"batch", "rows", "steps"};
  plan->buffers = {{.name = "counts", .kind = BufferKind::feed, .dtype = i64, .shape = {steps}},
                   {.name = "m", .kind = BufferKind::feed, .shape = {batch}},
                   {.name = "x", .kind = BufferKind::feed, .shape = {rows}},
                   {.name = "last", .kind = BufferKind::fetch, .shape = {batch}},
                   {.name = "all", .kind = BufferKind::fetch, .shape = {rows}}};
  plan->steps = {plan::rnn_step(block)};
  plan->fetches = {3, 4};
  return plan;
}

struct Sums {
  std::vector<float> last, all;
};

// Two sequences and five rows, all 1.
Sums run(const Numbers& counts, bool reverse = false) {
  const std::shared_ptr<plan::Plan> plan = running_sums();
  plan->steps[0].control.reverse = reverse;
  const auto device = device::make_cpu_device(1);
  Executor executor(plan, *device);
  const std::vector<float> m{10, 20}, x(5, 1);
  Sums sums{std::vector<float>(2, -1), std::vector<float>(5, -1)};
  executor.run({{"batch", 2}, {"rows", 5}, {"steps", static_cast<std::int64_t>(counts.size())}},
               {.feeds = {{"counts", counts.data()}, {"m", m.data()}, {"x", x.data()}},
                .fetches = {sums.last.data(), sums.all.data()}});
  return sums;
}

TEST(Recurrence, RunsEachSequenceForItsRows) {
  const Sums sums = run({2, 2, 1});
  EXPECT_THAT(sums.all, ElementsAre(11, 21, 12, 22, 13));
  EXPECT_THAT(sums.last, ElementsAre(13, 22));
  EXPECT_THAT(run({2, 2, 1}, true).last, ElementsAre(13, 22));
}

TEST(Recurrence, StopsAtTheFirstStepWithoutSequences) {
  EXPECT_THAT(run({2, 0, 2}).last, ElementsAre(11, 21));
  EXPECT_THAT(run({}).last, ElementsAre(10, 20));
  EXPECT_THAT(run({-3, 2}).last, ElementsAre(10, 20));
}

TEST(Recurrence, RefusesCountsThatDoNotFit) {
  const auto refused = [](const Numbers& counts) {
    for (const bool reverse : {false, true}) {
      EXPECT_NE(error_of(ErrorKind::data, [&] { run(counts, reverse); }), "") << counts[0];
    }
  };
  refused({1000000});  // of two sequences
  refused({3, 2});
  refused({2, 2, 2});  // six rows
  refused({1, 2});     // the number grows
  refused({kMax});
  refused({kMax, kMax});  // the sum does not fit into 64 bits
  refused({2, kMax});
  EXPECT_THAT(error_of(ErrorKind::data, [] { run({2, 2, 2}); }), HasSubstr("rows 4 to 6 of 5"));
}

// The same, where each row has inner rows: argument 1 splits them, argument 2 are they. The step
// reads none of them, but their ranges must be inside all the same.
void run_with_inner_rows(const Numbers& splits) {
  const std::shared_ptr<plan::Plan> plan = running_sums();
  const Dim rows("rows"), inner("inner");
  plan->symbols.emplace_back("inner");
  plan->buffers.push_back(
      {.name = "splits", .kind = BufferKind::feed, .dtype = i64, .shape = {rows + 1}});
  plan->buffers.push_back({.name = "words", .kind = BufferKind::feed, .shape = {inner}});
  plan::Step& rnn = plan->steps[0];
  rnn.buffers = {0, 1, 5, 6, 2, 3, 4};
  rnn.reads = {0, 1, 2, 5, 6};
  rnn.control.blocks[0].arguments = {0, 3};
  rnn.control.sequences = 3;
  rnn.control.sizes.push_back({"inner", 1, true, 0});
  rnn.control.argument_rows = {0, 0, 1, 0};
  const auto device = device::make_cpu_device(1);
  Executor executor(plan, *device);
  const Numbers counts{2, 2, 1};
  const std::vector<float> m{10, 20}, x(5, 1), words(7, 1);
  std::vector<float> last(2), all(5);
  executor.run({{"batch", 2}, {"rows", 5}, {"steps", 3}, {"inner", 7}},
               {.feeds = {{"counts", counts.data()},
                          {"m", m.data()},
                          {"x", x.data()},
                          {"splits", splits.data()},
                          {"words", words.data()}},
                .fetches = {last.data(), all.data()}});
  EXPECT_THAT(last, ElementsAre(13, 22));
}

TEST(Recurrence, RefusesInnerSplitsThatDoNotFit) {
  run_with_inner_rows({0, 2, 2, 5, 6, 7});
  const auto refused = [](const Numbers& splits) {
    EXPECT_THAT(error_of(ErrorKind::data, [&] { run_with_inner_rows(splits); }),
                HasSubstr("sequences do not fit their rows"));
  };
  refused({0, 2, 2, 5, 6, 8});  // of 7 inner rows
  refused({-1, 2, 2, 5, 6, 7});
  refused({0, 2, 5, 5, 4, 7});  // falls within a step
  refused({0, 2, 2, 5, 6, kMax});
}

}  // namespace
}  // namespace trireme::runtime
