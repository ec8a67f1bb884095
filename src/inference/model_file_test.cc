#include "inference/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/attributes.h"
#include "base/testing/error.h"
#include "inference/target.h"
#include "plan/testing/recurrence.h"

namespace trireme::inference {
namespace {

using plan::BufferKind;
using ::testing::HasSubstr;

// y = kernel(x, w), then out = sort(y) in the first half of its buffer's storage.
ModelFile small() {
  const Dim n = batch;
  ModelFile model{.name = "small \"net\"", .target = "aarch64", .labels = {"a", "b"}};
  model.inputs = {{"x", f32, {n, 3}}};
  model.outputs = {{"out", f32, {n, 3}}};
  plan::Plan& plan = model.plan;
  plan.symbols = {"batch"};
  plan.buffers = {
      {.name = "x", .kind = BufferKind::feed, .shape = {n, 3}, .first_step = 0, .last_step = 0},
      {.name = "w", .kind = BufferKind::parameter, .shape = {3}, .first_step = 0, .last_step = 0},
      {.name = "y", .kind = BufferKind::arena, .shape = {n * 3}, .first_step = 0, .last_step = 1},
      {.name = "y as rows", .kind = BufferKind::arena, .shape = {n, 3}, .alias_of = 2},
      {.name = "out", .kind = BufferKind::fetch, .shape = {n, 3}, .first_step = 1, .last_step = 1}};
  plan.kernels = {{.name = "mul", .symbol = "trireme_kernel_00"}};
  plan::Step mul{.name = "mul", .kernel = 0, .buffers = {0, 1, 2, -1}, .reads = {0, 1}};
  mul.writes = {2};
  mul.sizes = {n, Dim(std::string_view{plan::kSeedSymbol})};
  mul.trip = {n * 3, 8};
  mul.work = n * 3 + 1;
  mul.scratch = {{3, n * 4}};
  plan::Step sort{.name = "sort", .buffers = {3, 4}, .reads = {3}, .writes = {4}};
  sort.library = {"sort", {{"axis", std::int64_t{1}}, {"order", std::string("rising")}}};
  plan.steps = {mul, sort};
  plan.fetches = {4};
  plan.program_bytes = n * 24;
  return model;
}

TEST(ModelFile, ComesBackTheSame) {
  const std::string text = model_file_text(small());
  const ModelFile read = parse_model_file(text, "plan.json");
  EXPECT_EQ(model_file_text(read), text);
  EXPECT_EQ(read.name, "small \"net\"");
  EXPECT_EQ(read.plan.steps[0].trip.denominator, 8);
  EXPECT_EQ(read.plan.steps[0].scratch[0].bytes, batch * 4);
  EXPECT_EQ(get_attribute<std::int64_t>(read.plan.steps[1].library.attributes, "axis"), 1);
  EXPECT_EQ(read.plan.buffers[3].alias_of, 2);
  EXPECT_EQ(plan::print(read.plan), plan::print(small().plan));
}

void expect_refused(const std::string& text, const std::string& why) {
  const std::string error =
      error_of(ErrorKind::data, [&] { parse_model_file(text, "dir/plan.json"); });
  EXPECT_THAT(error, HasSubstr("dir/plan.json"));
  EXPECT_THAT(error, HasSubstr(why));
}

TEST(ModelFile, RefusesWhatIsNotOne) {
  const std::string text = model_file_text(small());
  expect_refused("", "not JSON");
  expect_refused(text.substr(0, text.size() / 2), "not JSON");
  expect_refused("[1, 2]", "not JSON");
  expect_refused("{}", "\"format\" is missing");
  expect_refused(R"({"format": "trireme saved model"})", "not a Trireme compiled model");
  std::string newer = text;
  newer.replace(newer.find("\"version\": 1"), 12, "\"version\": 9");
  expect_refused(newer, "another version");
}

// Every change of a Plan that would let a run touch memory that it may not.
TEST(ModelFile, RefusesAPlanThatDoesNotHoldTogether) {
  const auto refused = [](const std::string& why, const std::function<void(ModelFile&)>& spoil) {
    ModelFile model = small();
    spoil(model);
    expect_refused(model_file_text(model), why);
  };
  refused("names kernel 7", [](ModelFile& m) { m.plan.steps[0].kernel = 7; });
  refused("names buffer 99", [](ModelFile& m) { m.plan.steps[1].buffers[0] = 99; });
  refused("does not exist", [](ModelFile& m) { m.plan.buffers[3].alias_of = 50; });
  refused("circle", [](ModelFile& m) { m.plan.buffers[2].alias_of = 3; });
  refused("lives from", [](ModelFile& m) { m.plan.buffers[2].last_step = 0; });
  refused("lives from", [](ModelFile& m) { m.plan.buffers[2].last_step = 9; });
  // Not even where the step does not own up to it.
  refused("lives from", [](ModelFile& m) {
    m.plan.buffers[2].last_step = 0;
    m.plan.steps[1].reads.clear();
  });
  refused("before it is written", [](ModelFile& m) { m.plan.steps[0].writes.clear(); });
  refused("writes the feed", [](ModelFile& m) { m.plan.steps[0].writes = {2, 0}; });
  refused("shares the memory", [](ModelFile& m) {
    m.plan.buffers[3].alias_of = 0;
    m.plan.buffers[3].shape = {batch, 4};
  });
  refused("trip", [](ModelFile& m) { m.plan.steps[0].trip.denominator = 0; });
  refused("no input of that form", [](ModelFile& m) { m.inputs[0].shape = {batch, 2}; });
  refused("no input of that form", [](ModelFile& m) { m.inputs[0].dtype = f64; });
  refused("another form", [](ModelFile& m) { m.outputs[0].shape = {batch, 2}; });
  refused("0 outputs", [](ModelFile& m) { m.outputs.clear(); });
  refused("two inputs", [](ModelFile& m) { m.inputs.push_back(m.inputs[0]); });
  refused("size of width", [](ModelFile& m) { m.plan.steps[0].sizes[0] = Dim("width"); });
  refused("no certain size", [](ModelFile& m) { m.plan.buffers[1].shape = {batch}; });
  refused("scratch", [](ModelFile& m) { m.plan.steps[0].scratch[0].buffer = 2; });
}

// rows = rnn(x along its sequences, a memory that starts at zero); the block is sum = kernel(row of
// x, memory).
ModelFile recurrent() {
  const Dim n = batch, rows{std::string_view("words")}, active{std::string_view("active")};
  auto block = std::make_shared<plan::Plan>();
  block->symbols = {"active"};
  block->buffers = {{.name = "m", .kind = BufferKind::feed, .shape = {active, 2}},
                    {.name = "x", .kind = BufferKind::feed, .shape = {active, 2}},
                    {.name = "sum", .kind = BufferKind::fetch, .shape = {active, 2}},
                    {.name = "out", .kind = BufferKind::fetch, .shape = {active, 2}}};
  block->kernels = {{.name = "add", .symbol = "trireme_kernel_01"}};
  plan::Step add{.name = "add", .kernel = 0, .buffers = {0, 1, 2, 3}, .reads = {0, 1}};
  add.writes = {2, 3};
  add.trip = {active * 2, 1};
  block->steps = {add};
  block->fetches = {2, 3};

  ModelFile model{.name = "rnn", .target = "aarch64"};
  model.inputs = {{"x", f32, {rows, 2}},
                  {"x.splits", i64, {n + 1}, "words"},
                  {"m", f32, {n, 2}},
                  {"counts", i64, {rows}}};
  model.outputs = {{"last", f32, {n, 2}}, {"all", f32, {rows, 2}}};
  plan::Plan& plan = model.plan;
  plan.symbols = {"batch", "words"};
  plan.buffers = {{.name = "counts", .kind = BufferKind::feed, .dtype = i64, .shape = {rows}},
                  {.name = "m", .kind = BufferKind::feed, .shape = {n, 2}},
                  {.name = "x", .kind = BufferKind::feed, .shape = {rows, 2}},
                  {.name = "last", .kind = BufferKind::fetch, .shape = {n, 2}},
                  {.name = "all", .kind = BufferKind::fetch, .shape = {rows, 2}}};
  plan.steps = {plan::rnn_step(block)};
  plan.fetches = {3, 4};
  return model;
}

TEST(ModelFile, BlocksComeBackTheSame) {
  const std::string text = model_file_text(recurrent());
  const ModelFile read = parse_model_file(text, "plan.json");
  EXPECT_EQ(model_file_text(read), text);
  EXPECT_EQ(plan::print(read.plan), plan::print(recurrent().plan));
  EXPECT_EQ(read.inputs[1].splits_of, "words");
  EXPECT_EQ(read.plan.steps[0].control.blocks[0].plan->kernels[0].symbol, "trireme_kernel_01");
}

TEST(ModelFile, RefusesBlocksThatDoNotFitTheirStep) {
  const auto refused = [](const std::string& why,
                          const std::function<void(plan::Control&, plan::Plan&)>& spoil) {
    ModelFile model = recurrent();
    plan::Control& control = model.plan.steps[0].control;
    auto block = std::make_shared<plan::Plan>(*control.blocks[0].plan);
    spoil(control, *block);
    if (!control.blocks.empty()) control.blocks[0].plan = block;
    expect_refused(model_file_text(model), why);
  };
  using plan::Control, plan::Plan;
  refused("number of blocks", [](Control& c, Plan&) { c.blocks.clear(); });
  refused("for itself", [](Control& c, Plan&) { c.extra = 0; });
  refused("carries more", [](Control& c, Plan&) { c.carried = 5; });
  refused("carries more", [](Control& c, Plan&) { c.sequences = 9; });
  refused("no argument", [](Control& c, Plan&) { c.blocks[0].arguments = {0, 7}; });
  refused("another number of values", [](Control& c, Plan&) { c.blocks[0].arguments = {0}; });
  refused("what the rows", [](Control& c, Plan&) { c.argument_rows = {0}; });
  refused("does not exist", [](Control& c, Plan&) { c.argument_rows = {0, 3}; });
  refused("has no rows", [](Control& c, Plan&) { c.result_rows = {0, -1}; });
  refused("of no argument", [](Control& c, Plan&) { c.sizes.push_back({"more", 8}); });
  refused("no numbers", [](Control& c, Plan&) { c.sizes.push_back({"more", 1}); });
  refused("splits none", [](Control& c, Plan&) { c.sizes.push_back({"more", 1, true, 1}); });
  refused("for a block", [](Control&, Plan& p) { p.buffers[1].shape[1] = 3; });
  refused("for a block", [](Control&, Plan& p) { p.buffers[0].dtype = f64; });
  refused("for a block", [](Control& c, Plan&) { c.argument_rows = {0, -1}; });
  refused("size of active", [](Control& c, Plan&) { c.sizes[0].symbol = "other_than"; });
  refused("names kernel 4", [](Control&, Plan& p) { p.steps[0].kernel = 4; });
  refused("fewer buffers", [](Control&, Plan& p) { p.fetches = {2, 3, 2, 3, 2, 3}; });
  refused("reads a parameter", [](Control&, Plan& p) {
    p.buffers.push_back({.name = "w", .kind = BufferKind::parameter, .shape = {2}});
  });
  refused("another number of blocks", [](Control& c, Plan&) { c.kind = Control::Kind::cond; });
  refused("for itself", [](Control& c, Plan&) { c.kind = Control::Kind::scan; });
}

TEST(ModelFile, RefusesBlocksWithoutEnd) {
  ModelFile model = recurrent();
  for (int level = 0; level < 40; ++level) {
    auto around = std::make_shared<plan::Plan>(model.plan);
    model.plan.steps[0].control.blocks[0].plan = around;
  }
  expect_refused(model_file_text(model), "too deep");
}

TEST(Machine, KnowsWhereCodeCanRun) {
  EXPECT_THAT(obstacle("sparc"), HasSubstr("does not know"));
  const std::string native = native_target();
  if (!native.empty()) {
    EXPECT_EQ(obstacle(native), "");
  }
  const std::string foreign = native == "aarch64" ? "x86-64-v3" : "aarch64";
  EXPECT_THAT(obstacle(foreign), HasSubstr("it is for " + foreign));
}

}  // namespace
}  // namespace trireme::inference
