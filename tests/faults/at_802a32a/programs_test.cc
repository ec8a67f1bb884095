// Programs with wrong text or numbers, at commit 802a32a: faults 1, 2, 5, and the windows of 9.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error_test.h"
#include "codegen/codegen.h"
#include "compiler/compile.h"
#include "device/device.h"
#include "ops/op.h"
#include "plan/plan.h"
#include "runtime/executor.h"
#include "trireme/trireme.h"

namespace trireme {
namespace {

using plan::BufferKind;
using ::testing::HasSubstr;
using ::testing::Not;

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kHuge = 9223372036854774808;

// --- 1: the counts of a recurrence

// An op that only the compiler makes is refused in the text of a user. At the latest, counts that
// do not fit the rows are an error.
TEST(Fault1, CountsInTheTextOfAProgram) {
  const char* const text = R"(program p v1
block 0 (%counts : i64[rows], %m : f32[batch], %x : f32[rows]) {
  %0, %1 = packed_rnn(%counts, %m, %x) {active = shape[active], batch = shape[batch], memories = 1, sequences = 1} : f32[batch], f32[rows]
    block 1 (%a : f32[active], %b : f32[active]) {
      %2 = add(%a, %b) : f32[active]
      return %2, %2
    }
  return %0, %1
}
)";
  EXPECT_NE(error_of(ErrorKind::data,
                     [&] {
                       const Program program = Program::parse(text);
                       Session session(program);
                       session.run({{"counts", Tensor::from<std::int64_t>({3}, {20, 0, 0})},
                                    {"m", Tensor::from<float>({2}, {10, 20})},
                                    {"x", Tensor::from<float>({3}, {1, 1, 1})}},
                                   program.outputs());
                     }),
            "no error");
}

// The running sum of two sequences with five rows, where counts[t] of them have a row at step t.
// With `splits`, each row has inner rows, of seven.
void run_sums(const Numbers& counts, const Numbers& splits = {}) {
  const Dim batch("batch"), rows("rows"), active("active"), steps("steps"), inner("inner");
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
  plan::Step rnn{.name = "rnn", .buffers = {0, 1, 2, 3, 4}, .reads = {0, 1, 2}, .writes = {3, 4}};
  plan::Control& control = rnn.control;
  control.kind = plan::Control::Kind::rnn;
  control.blocks = {{block, {0, 1}}};
  control.extra = control.carried = control.sequences = 1;
  control.sizes = {{"active"}};
  control.argument_rows = control.result_rows = {0, 0};
  if (!splits.empty()) {
    plan->symbols.emplace_back("inner");
    plan->buffers.push_back(
        {.name = "splits", .kind = BufferKind::feed, .dtype = i64, .shape = {rows + Dim(1)}});
    plan->buffers.push_back({.name = "words", .kind = BufferKind::feed, .shape = {inner}});
    rnn.buffers = {0, 1, 5, 6, 2, 3, 4};
    rnn.reads = {0, 1, 2, 5, 6};
    control.blocks[0].arguments = {0, 3};
    control.sequences = 3;
    control.sizes.push_back({"inner", 1, true, 0});
    control.argument_rows = {0, 0, 1, 0};
  }
  plan->steps = {rnn};
  plan->fetches = {3, 4};

  const auto device = device::make_cpu_device(1);
  runtime::Executor executor(plan, *device);
  const std::vector<float> m{10, 20}, x(5, 1), words(7, 1);
  std::vector<float> last(2, -1), all(5, -1);
  SymbolSizes sizes{{"batch", 2}, {"rows", 5}, {"steps", static_cast<std::int64_t>(counts.size())}};
  runtime::Bindings bindings{.feeds = {{"counts", counts.data()}, {"m", m.data()}, {"x", x.data()}},
                             .fetches = {last.data(), all.data()}};
  if (!splits.empty()) {
    sizes["inner"] = 7;
    bindings.feeds["splits"] = splits.data();
    bindings.feeds["words"] = words.data();
  }
  executor.run(sizes, bindings);
}

TEST(Fault1, CountsBeyondTheBatch) {
  run_sums({2, 2, 1});
  EXPECT_NE(error_of(ErrorKind::data, [] { run_sums({1000000}); }), "no error");
}

TEST(Fault1, CountsThatGrow) {
  EXPECT_NE(error_of(ErrorKind::data, [] { run_sums({1, 2}); }), "no error")
      << "counts that grow were accepted";
}

TEST(Fault1, InnerSplitsBeyondTheirRows) {
  run_sums({2, 2, 1}, {0, 2, 2, 5, 6, 7});
  EXPECT_NE(error_of(ErrorKind::data, [] { run_sums({2, 2, 1}, {0, 2, 2, 5, 6, 8}); }), "no error")
      << "splits beyond the rows were accepted";
}

// --- 2: the arithmetic of windows

TEST(Fault2, DilationOfAConvolution) {
  Program program;
  const Value x = program.input("x", f32, {batch, 1, 8, 8});
  const Value w = program.parameter("kernel", f32, {1, 1, 3, 3});
  EXPECT_NE(error_of(ErrorKind::usage, [&] { conv2d(x, w, {.dilation = {1, kHuge}}); }),
            "no error");
}

TEST(Fault2, DilationInTheTextOfAProgram) {
  const char* const text = R"(program p v1
block 0 (%x : f32[1, 1, 8, 1], %w : f32[1, 3, 1, 1]) {
  %0 = direct_conv2d(%x, %w) {dilation = [1, 9223372036854774808], groups = 1, padding = [0, 0, 0, 0], stride = [1, 1]} : f32[1, 1, 2008, 1]
  return %0
}
)";
  EXPECT_NE(error_of(ErrorKind::data, [&] { Program::parse(text); }), "no error");
}

TEST(Fault2, StrideOfASlice) {
  Program program;
  const Value x = program.input("x", f32, {10});
  const Value y =
      slice(x, {.starts = {Dim(2)}, .limits = {Dim(9)}, .strides = {9223372036854775807}});
  EXPECT_EQ(y.shape(), Shape{1});
}

// --- 5: the attributes of library ops

// All ops, and one like `sort` that has attributes of all kinds.
class OpsAndOne : public ir::OpSet {
 public:
  OpsAndOne() : one_(*ops::catalog().find("sort")) {
    one_.signature =
        "sort_by(x; axis: int = -1, descending: bool = false, slope: float = 0.5, "
        "slopes: floats = [0.25, 2], to: dtype = f64, size: shape = [2, 3]) -> values, indices";
    ir::parse_signature(one_);
  }
  const ir::OpDef* find(std::string_view name) const override {
    return name == one_.name ? &one_ : ops::catalog().find(name);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names = ops::catalog().names();
    names.push_back(one_.name);
    return names;
  }

 private:
  ops::Op one_;
};

// All attributes of a library op reach the Plan.
TEST(Fault5, AttributesOfALibraryOp) {
  const OpsAndOne ops;
  ir::Program program("p", ops);
  ir::Value* const x = program.add_input("x", {f32, {4}, ""});
  const ir::Op* const op =
      program.append(program.main(), "sort_by", {x}, {{"axis", std::int64_t{0}}}, {});
  const auto code = codegen::make_interpreter();
  const auto plan = compiler::compile(program, {op->result(0)}, *code, {});
  const std::string text = plan::print(*plan);
  EXPECT_THAT(text, HasSubstr("axis"));
  for (const char* name : {"slope", "slopes", "to = ", "size"}) {
    EXPECT_THAT(text, HasSubstr(name)) << "the attribute is lost";
  }
}

// --- 9: windows of very many places

TEST(Fault9, AWindowOfVeryManyPlaces) {
  Program program;
  const Value x = program.input("x", f32, {batch, 1, 8, 8});
  EXPECT_NE(error_of(ErrorKind::usage,
                     [&] {
                       max_pool(x, {.kernel = {20000, 20000},
                                    .stride = {1, 1},
                                    .padding = {19999, 19999, 19999, 19999}});
                     }),
            "no error")
      << "a window of 400,000,000 places was accepted";
}

}  // namespace
}  // namespace trireme
