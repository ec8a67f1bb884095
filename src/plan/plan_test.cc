#include "plan/plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/attributes.h"
#include "base/testing/error.h"
#include "plan/json.h"
#include "trireme/error.h"

namespace trireme::plan {
namespace {

Buffer arena(std::string name, Shape shape, int first, int last) {
  return {
      .name = std::move(name), .shape = std::move(shape), .first_step = first, .last_step = last};
}

// Byte ranges of two values that live at the same time never meet, whatever lives when.
TEST(Place, RandomLifetimesNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const int steps = 1 + static_cast<int>(random() % 40);
    const int count = static_cast<int>(random() % 60);
    Plan plan;
    plan.steps.resize(static_cast<std::size_t>(steps));
    std::int64_t sum = 0;
    for (int i = 0; i < count; ++i) {
      const int first = static_cast<int>(random() % static_cast<unsigned>(steps));
      const int last = first + static_cast<int>(random() % static_cast<unsigned>(steps - first));
      const std::int64_t elements = static_cast<std::int64_t>(random() % 1000);
      plan.buffers.push_back(arena("v", {Dim(elements)}, first, last));
      sum += (elements * 4 + 63) / 64 * 64;
    }
    const Placement placement = place(plan, {});
    EXPECT_EQ(placement.sum_of_values, sum);
    EXPECT_LE(placement.arena_bytes, sum);
    // No step can need more than the arena holds.
    for (int step = 0; step < steps; ++step) {
      std::int64_t live = 0;
      for (const Buffer& b : plan.buffers) {
        if (b.first_step <= step && step <= b.last_step) live += b.shape[0].constant() * 4;
      }
      EXPECT_LE(live, placement.arena_bytes);
    }
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      const Buffer& a = plan.buffers[i];
      ASSERT_GE(placement.offsets[i], 0);
      ASSERT_EQ(placement.offsets[i] % 64, 0);
      const std::int64_t a_end = placement.offsets[i] + a.shape[0].constant() * 4;
      ASSERT_LE(a_end, placement.arena_bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const Buffer& b = plan.buffers[j];
        if (a.last_step < b.first_step || b.last_step < a.first_step) continue;
        const std::int64_t b_end = placement.offsets[j] + b.shape[0].constant() * 4;
        ASSERT_TRUE(a_end <= placement.offsets[j] || b_end <= placement.offsets[i])
            << "round " << round << ": " << i << " and " << j;
      }
    }
    const Placement apart = place(plan, {}, false);
    EXPECT_EQ(apart.arena_bytes, sum);
  }
}

TEST(Place, AChainOfValuesNeedsTwoPlaces) {
  Plan plan;
  plan.steps.resize(100);
  for (int i = 0; i < 99; ++i) plan.buffers.push_back(arena("v", {Dim("batch"), 16}, i, i + 1));
  const Placement placement = place(plan, {{"batch", 10}});
  EXPECT_EQ(placement.arena_bytes, 2 * 640);
  EXPECT_EQ(placement.sum_of_values, 99 * 640);
  EXPECT_EQ(place(plan, {{"batch", 0}}).arena_bytes, 0);
}

TEST(Place, AliasesShareStorageAndExtendItsLife) {
  Plan plan;
  plan.steps.resize(4);
  plan.buffers = {arena("a", {16}, 0, 1),
                  arena("reshaped", {4, 4}, 1, 3),
                  arena("b", {16}, 2, 3),
                  {.name = "w", .kind = BufferKind::parameter, .shape = {16}},
                  arena("updated", {16}, 3, 3)};
  plan.buffers[1].alias_of = 0;
  plan.buffers[4].alias_of = 3;
  const Placement placement = place(plan, {});
  EXPECT_EQ(placement.offsets[0], placement.offsets[1]);
  EXPECT_NE(placement.offsets[0], placement.offsets[2]);
  EXPECT_EQ(placement.offsets[3], -1);
  EXPECT_EQ(placement.offsets[4], -1);
  EXPECT_EQ(placement.arena_bytes, 128);
  EXPECT_EQ(root_of(plan, 1), 0);
  plan.buffers[0].alias_of = 1;
  EXPECT_THROW(root_of(plan, 0), Error);
}

TEST(Quotient, RoundsUp) {
  const Quotient quotient{Dim("batch") * 10, 16};
  EXPECT_EQ(quotient.evaluate({{"batch", 8}}), 5);
  EXPECT_EQ(quotient.evaluate({{"batch", 7}}), 5);
  EXPECT_EQ(quotient.evaluate({{"batch", 1}}), 1);
  EXPECT_EQ(quotient.evaluate({{"batch", 0}}), 0);
}

// y = f(x, w); z = g(y), fetched; g is in place.
Plan two_steps() {
  Plan plan;
  plan.symbols = {"batch"};
  plan.kernels = {{.name = "f"}, {.name = "g"}};
  plan.buffers = {{.name = "x", .kind = BufferKind::feed, .shape = {Dim("batch"), 3}},
                  {.name = "w", .kind = BufferKind::parameter, .shape = {3}},
                  arena("%0", {Dim("batch"), 3}, 0, 1),
                  {.name = "z", .kind = BufferKind::fetch, .shape = {Dim("batch"), 3}}};
  Step f{.name = "f",
         .sources = {"net.cc:3 dense"},
         .kernel = 0,
         .buffers = {0, 1, 2, -1},
         .reads = {0, 1},
         .writes = {2}};
  f.scratch = {{3, Dim(256)}};
  f.trip = {Dim("batch"), 4};
  Step g{.name = "g", .kernel = 1, .buffers = {2, 3}, .reads = {2}, .writes = {3}};
  plan.steps = {f, g};
  plan.fetches = {3};
  return plan;
}

void expect_refused(const Plan& plan, const std::string& part) {
  try {
    verify(plan);
    FAIL() << "not refused: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Verify, FindsEachBrokenPromise) {
  verify(two_steps());
  Plan plan = two_steps();
  plan.steps[1].buffers[0] = 9;
  expect_refused(plan, "buffer 9 of 4");
  plan = two_steps();
  std::swap(plan.steps[0], plan.steps[1]);
  expect_refused(plan, "before it is written");
  plan = two_steps();
  plan.buffers[2].last_step = 0;
  expect_refused(plan, "lives from 0 to 0");
  plan = two_steps();
  plan.steps[0].kernel = 2;
  expect_refused(plan, "kernel 2 of 2");
  plan = two_steps();
  plan.steps[0].library.kernel = "gemm";
  expect_refused(plan, "a kernel or a library call");
  plan = two_steps();
  plan.steps[0].scratch.clear();
  expect_refused(plan, "neither");
  plan = two_steps();
  plan.fetches = {2, 7};
  expect_refused(plan, "fetch 1 names buffer 7");
  plan = two_steps();
  plan.steps[1].writes = {0};
  plan.steps[1].buffers.push_back(0);
  expect_refused(plan, "writes the feed");
  plan = two_steps();
  plan.steps[1].reads = {2, 1};
  expect_refused(plan, "not an argument");
}

// two_steps() with a library call in the place of the kernel g.
Plan library_plan(Attributes attributes) {
  Plan plan = two_steps();
  plan.steps[1].kernel = -1;
  plan.steps[1].library = {"gemm", std::move(attributes)};
  return plan;
}

TEST(Json, KeepsTheKindOfEachAttribute) {
  Attributes attributes;
  set_attribute(attributes, "alpha", std::numeric_limits<double>::infinity());
  set_attribute(attributes, "axis", std::numeric_limits<std::int64_t>::max());
  set_attribute(attributes, "has_bias", true);
  set_attribute(attributes, "epilogue", std::string("relu"));
  set_attribute(attributes, "stride", std::vector<std::int64_t>{});
  set_attribute(attributes, "scales", std::vector<double>{0.1, -0.0});
  set_attribute(attributes, "to", DType::f16);
  set_attribute(attributes, "size", Shape{Dim("batch"), 3});
  const Json json = to_json(library_plan(attributes));
  const Attributes read = plan_from_json(Json::parse(json.dump())).steps[1].library.attributes;
  ASSERT_EQ(read.size(), attributes.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].name, attributes[i].name);
    EXPECT_EQ(kind_of(read[i].value), kind_of(attributes[i].value));
    EXPECT_EQ(print_attribute(read[i].value), print_attribute(attributes[i].value));
  }
}

TEST(Json, RefusesAttributesOfAnUnknownKind) {
  const Json good = to_json(library_plan({{"axis", std::int64_t{1}}}));
  const auto error_with = [&](Json attribute) {
    Json json = good;
    json["steps"][1]["library"]["attributes"]["axis"] = std::move(attribute);
    return error_of(ErrorKind::data, [&] { plan_from_json(json); });
  };
  for (const auto& [attribute, part] : std::vector<std::pair<Json, std::string>>{
           {{{"complex", 1}}, "attribute \"axis\" has the unknown kind \"complex\""},
           {{{"bool", 1}}, "attribute \"axis\""},
           {{{"float", 1.5}}, "\"axis\" is not the text of a number"},
           {{{"ints", {1, "two"}}}, "\"axis\""},
           {{{"int", 1}, {"bool", true}}, "attribute \"axis\" is not a pair of kind and value"},
           {1, "attribute \"axis\" is not a pair of kind and value"}}) {
    EXPECT_NE(error_with(attribute).find(part), std::string::npos) << error_with(attribute);
  }
}

TEST(Json, ReadsTheUntypedAttributesOf01) {
  Json json = to_json(library_plan({}));
  json["steps"][1]["library"] = {{"kernel", "gemm"},
                                 {"numbers", {{"transpose_a", {1}}, {"stride", {2, 2}}}},
                                 {"texts", {{"epilogue", "relu"}}}};
  const Attributes read = plan_from_json(json).steps[1].library.attributes;
  EXPECT_EQ(get_attribute<std::vector<std::int64_t>>(read, "stride"),
            (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(get_attribute<std::vector<std::int64_t>>(read, "transpose_a"),
            std::vector<std::int64_t>{1});
  EXPECT_EQ(get_attribute<std::string>(read, "epilogue"), "relu");
}

TEST(Print, NamesEverything) {
  const std::string text = print(two_steps());
  for (const char* part :
       {"b0 feed : f32[batch, 3]  // x", "kernel f (b0, b1, b2, scratch)", "ceil((batch)/4)",
        "scratch 256 bytes", "net.cc:3 dense", "b2 arena", "fetches: b3"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  const std::string map = print_memory_map(two_steps(), {{"batch", 5}});
  EXPECT_NE(map.find("0           60         0-1  %0"), std::string::npos) << map;
  EXPECT_NE(map.find("arena 64 bytes, sum of values 64 bytes, ratio 1.00"), std::string::npos)
      << map;
}

}  // namespace
}  // namespace trireme::plan
