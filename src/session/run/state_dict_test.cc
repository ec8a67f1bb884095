// State dicts: copied out, loaded, checked, and from the names and layouts of PyTorch.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/safetensors.h"
#include "base/testing/error.h"
#include "trireme/attention.h"
#include "trireme/models.h"
#include "trireme/recurrent.h"
#include "trireme/state.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> names_of(const StateDict& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

// 0, 1, 2 ...
Tensor counted(std::vector<std::int64_t> shape) {
  Tensor tensor(f32, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(i);
  }
  return tensor;
}

Tensor floats(std::vector<float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return Tensor::from<float>({size}, values);
}

std::vector<float> parameter_of(Session& session, const std::string& name) {
  return session.parameter(name).to_vector<float>();
}

// A linear layer and its batch norm, trained by Adam.
struct SmallNet {
  Program program{"small"};
  Value y;
  SmallNet() {
    const Value x = program.input("x", f32, {batch, 3});
    y = nn::batch_norm(nn::linear(x, {.units = 2, .name = "fc"}), {.name = "norm"});
    minimize(mean(y * y), Adam{}, {.adjustable_rate = true});
  }
};

const std::vector<std::string> kSmallNames = {
    "fc.bias", "fc.weight", "norm.bias", "norm.running_mean", "norm.running_var", "norm.weight"};

TEST(StateDict, HasTheParametersWithoutTheOptimizer) {
  const SmallNet net;
  Session first(net.program, {.seed = 1}), second(net.program, {.seed = 2});
  const StateDict tensors = state_dict(first);
  EXPECT_EQ(names_of(tensors), kSmallNames);
  EXPECT_FALSE(equal(tensors.at("fc.weight"), second.parameter("fc.weight")));
  const LoadReport report = load_state_dict(second, tensors);
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
  EXPECT_TRUE(equal(tensors.at("fc.weight"), second.parameter("fc.weight")));
  // Copies: they do not change with the Session.
  first.run({{"x", counted({4, 3})}}, {}, {.training = true, .updates = true});
  EXPECT_FALSE(equal(tensors.at("fc.weight"), first.parameter("fc.weight")));
  // The text has no names of updates, but the same ops.
  Session parsed(Program::parse(net.program.str()));
  EXPECT_EQ(names_of(state_dict(parsed)), kSmallNames);
}

TEST(StateDict, IsUsedByTheNextRun) {
  const SmallNet net;
  Session first(net.program, {.seed = 1}), second(net.program, {.seed = 2});
  const Feeds feeds{{"x", counted({2, 3})}};
  const Tensor before = second.run(feeds, {net.y})[0];
  load_state_dict(second, state_dict(first));
  EXPECT_TRUE(equal(second.run(feeds, {net.y})[0], first.run(feeds, {net.y})[0]));
  EXPECT_FALSE(equal(before, first.run(feeds, {net.y})[0]));
}

TEST(StateDict, RefusesNamesThatDoNotMatchAndLoadsNothing) {
  const SmallNet net;
  Session session(net.program);
  const StateDict before = state_dict(session);
  StateDict tensors = before;
  tensors["fc.weight"] = counted({3, 2});
  tensors.erase("norm.weight");
  tensors["head.weight"] = counted({1});
  const std::string text = error_of(ErrorKind::usage, [&] { load_state_dict(session, tensors); });
  EXPECT_THAT(text, HasSubstr("parameters of small; nothing was loaded"));
  EXPECT_THAT(text, HasSubstr("missing    1: \"norm.weight\""));
  EXPECT_THAT(text, HasSubstr("unexpected 1: \"head.weight\""));
  EXPECT_TRUE(equal(before.at("fc.weight"), session.parameter("fc.weight")));

  const LoadReport report = load_state_dict(session, tensors, {.strict = false});
  EXPECT_THAT(report.missing, ElementsAre("norm.weight"));
  EXPECT_THAT(report.unexpected, ElementsAre("head.weight"));
  EXPECT_TRUE(equal(tensors.at("fc.weight"), session.parameter("fc.weight")));
}

TEST(StateDict, RefusesOtherShapesAndDTypes) {
  const SmallNet net;
  Session session(net.program);
  const StateDict before = state_dict(session);
  for (const bool strict : {true, false}) {
    StateDict tensors = before;
    tensors["fc.bias"] = counted({2});
    tensors["fc.weight"] = counted({2, 3});
    tensors["norm.weight"] = counted({2}).cast(f64);
    const std::string text =
        error_of(ErrorKind::usage, [&] { load_state_dict(session, tensors, {.strict = strict}); });
    EXPECT_THAT(text, HasSubstr("different  2: \"fc.weight\" is f32[2, 3], \"fc.weight\" needs "
                                "f32[3, 2]; \"norm.weight\" is f64[2], "));
    EXPECT_TRUE(equal(before.at("fc.bias"), session.parameter("fc.bias")));
  }
}

TEST(StateDict, LoadsNothingIfMemoryIsLimited) {
  Program program("limited");
  program.parameter("a", f32, {4}, {.initializer = nn::ones()});
  program.parameter("b", f32, {1000});
  Session session(program, {.max_bytes = 400});
  const StateDict tensors{{"a", counted({4})}, {"b", counted({1000})}};
  EXPECT_NE(error_of(ErrorKind::data, [&] { load_state_dict(session, tensors); }), "no error");
  EXPECT_THAT(parameter_of(session, "a"), ElementsAre(1, 1, 1, 1));
}

TEST(StateDict, ListsAFewNamesOfMany) {
  const SmallNet net;
  Session session(net.program);
  StateDict tensors = state_dict(session);
  for (int i = 0; i < 9; ++i) tensors["extra_" + std::to_string(i)] = counted({1});
  const std::string text = error_of(ErrorKind::usage, [&] { load_state_dict(session, tensors); });
  EXPECT_THAT(text, HasSubstr("unexpected 9: \"extra_0\", "));
  EXPECT_THAT(text, HasSubstr("\"extra_5\" and 3 more"));
}

TEST(StateDict, MapsModulesToLayers) {
  Program program("nested");
  const Value x = program.input("x", f32, {batch, 2});
  {
    const auto scope = program.scope("encoder");
    const Value scale = program.parameter("scale", f32, {2});
    nn::linear(nn::linear(x * scale, {.units = 2}), {.units = 3, .name = "head"});
  }
  Session session(program);
  const StateDict tensors{{"backbone/linear_0.weight", counted({2, 2})},
                          {"backbone/linear_0.bias", counted({2})},
                          {"backbone.scale", floats({3, 4})},
                          {"out.weight", counted({2, 3})},
                          {"out.bias", counted({3})}};
  load_state_dict(session, tensors,
                  {.modules = {{"backbone", "encoder"}, {"out", "encoder/head"}}});
  EXPECT_THAT(parameter_of(session, "encoder.scale"), ElementsAre(3, 4));
  EXPECT_THAT(parameter_of(session, "encoder/head.bias"), ElementsAre(0, 1, 2));
  // The same names as PyTorch would write them, of one layer.
  const StateDict in_torch{{"linear_0.weight", counted({2, 2})},
                           {"linear_0.bias", counted({2})},
                           {"scale", floats({5, 6})},
                           {"head.weight", counted({3, 2})},
                           {"head.bias", counted({3})}};
  load_state_dict(session, in_torch, {.layout = Layout::torch, .modules = {{"", "encoder"}}});
  EXPECT_THAT(parameter_of(session, "encoder.scale"), ElementsAre(5, 6));
  EXPECT_THAT(parameter_of(session, "encoder/head.weight"), ElementsAre(0, 2, 4, 1, 3, 5));

  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { load_state_dict(session, tensors, {.modules = {{"a", "b"}}}); }),
              HasSubstr("nested has no layer \"b\" with parameters"));
  const LoadOptions twice{.modules = {{"a", "encoder"}, {"b", "encoder"}}};
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { load_state_dict(session, tensors, twice); }),
              HasSubstr("two .modules are the layer \"encoder\""));
}

// --- Layouts of PyTorch --------------------------------------------------------------------------

TEST(TorchLayout, TransposesLinearAndIgnoresTheCounterOfBatchNorm) {
  const SmallNet net;
  Session session(net.program);
  StateDict tensors{{"fc.weight", counted({2, 3})},
                    {"fc.bias", floats({-0.f, 2})},
                    {"norm.weight", floats({1, 2})},
                    {"norm.bias", floats({3, 4})},
                    {"norm.running_mean", counted({2})},
                    {"norm.running_var", floats({5, 6})},
                    {"norm.num_batches_tracked", Tensor::scalar<std::int64_t>(7)}};
  load_state_dict(session, tensors, {.layout = Layout::torch});
  EXPECT_THAT(parameter_of(session, "fc.weight"), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(parameter_of(session, "norm.running_var"), ElementsAre(5, 6));
  // A copy of the Program keeps the names of PyTorch, the text does not.
  Session copy(net.program.clone());
  load_state_dict(copy, tensors, {.layout = Layout::torch});
  EXPECT_TRUE(equal(copy.parameter("fc.weight"), session.parameter("fc.weight")));
  Session parsed(Program::parse(net.program.str()));
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { load_state_dict(parsed, tensors, {.layout = Layout::torch}); }),
              HasSubstr("a Program that was parsed have no names of PyTorch"));
  tensors["fc.weight"] = counted({3, 2});
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { load_state_dict(session, tensors, {.layout = Layout::torch}); }),
              HasSubstr("\"fc.weight\" is f32[3, 2], \"fc.weight\" needs f32[2, 3]"));
}

TEST(TorchLayout, AddsTheBiasesOfLstmAndSubtractsTheForgetBias) {
  Program program("lstm");
  const Value x = program.input("x", f32, ragged({batch}, {2}));
  nn::lstm(x, {.units = 1, .layers = 2, .bidirectional = true, .name = "lstm"});
  Session session(program);
  StateDict tensors;
  for (const std::string suffix : {"_l0", "_l0_reverse", "_l1", "_l1_reverse"}) {
    tensors["weight_ih" + suffix] = counted({4, 2});
    tensors["weight_hh" + suffix] = counted({4, 1});
    tensors["bias_ih" + suffix] = floats({1, 2, 3, 4});
    tensors["bias_hh" + suffix] = floats({10, 20, 30, 40});
  }
  tensors["bias_hh_l1_reverse"] = floats({0, 0, 0, 0});
  load_state_dict(session, tensors, {.layout = Layout::torch, .modules = {{"", "lstm"}}});
  EXPECT_THAT(parameter_of(session, "lstm/layer_0.weight"), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(parameter_of(session, "lstm/layer_0.recurrent"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(parameter_of(session, "lstm/layer_0.bias"), ElementsAre(11, 21, 33, 44));
  EXPECT_THAT(parameter_of(session, "lstm/layer_1_backwards.bias"), ElementsAre(1, 1, 3, 4));

  tensors.erase("bias_hh_l1");
  const LoadReport report = load_state_dict(
      session, tensors, {.strict = false, .layout = Layout::torch, .modules = {{"", "lstm"}}});
  EXPECT_THAT(report.missing, ElementsAre("bias_hh_l1"));
  EXPECT_TRUE(report.unexpected.empty());
}

TEST(TorchLayout, SplitsTheBiasOfGru) {
  Program program("gru");
  const Value x = program.input("x", f32, ragged({batch}, {2}));
  nn::gru(x, {.units = 1, .reverse = true, .name = "gru"});
  Session session(program);
  load_state_dict(session,
                  {{"gru.weight_ih_l0", counted({3, 2})},
                   {"gru.weight_hh_l0", counted({3, 1})},
                   {"gru.bias_ih_l0", floats({1, 2, 3})},
                   {"gru.bias_hh_l0", floats({10, 20, 30})}},
                  {.layout = Layout::torch});
  EXPECT_THAT(parameter_of(session, "gru/layer_0_backwards.bias"), ElementsAre(11, 22, 3));
  EXPECT_THAT(parameter_of(session, "gru/layer_0_backwards.recurrent_bias"), ElementsAre(30));
}

TEST(TorchLayout, SplitsTheProjectionsOfAttention) {
  Program program("attention");
  const Value x = program.input("x", f32, {batch, 3, 2});
  nn::multi_head_attention(x, x, x, {.heads = 1, .name = "mha"});
  Session session(program);
  load_state_dict(session,
                  {{"mha.in_proj_weight", counted({6, 2})},
                   {"mha.in_proj_bias", counted({6})},
                   {"mha.out_proj.weight", counted({2, 2})},
                   {"mha.out_proj.bias", counted({2})}},
                  {.layout = Layout::torch});
  EXPECT_THAT(parameter_of(session, "mha/query.weight"), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(parameter_of(session, "mha/key.weight"), ElementsAre(4, 6, 5, 7));
  EXPECT_THAT(parameter_of(session, "mha/value.weight"), ElementsAre(8, 10, 9, 11));
  EXPECT_THAT(parameter_of(session, "mha/value.bias"), ElementsAre(4, 5));
  EXPECT_THAT(parameter_of(session, "mha/out.weight"), ElementsAre(0, 2, 1, 3));
}

// The report for an empty StateDict has the names of PyTorch.
TEST(TorchLayout, HasTheNamesOfTransformersAndOfTorchvision) {
  const auto missing = [](const Program& program, const std::string& layer) {
    Session session(program);
    return load_state_dict(session, {},
                           {.strict = false, .layout = Layout::torch, .modules = {{"", layer}}})
        .missing;
  };
  Program encoder("encoder");
  const Value x = encoder.input("x", f32, {batch, 3, 4});
  nn::transformer_encoder(x, {.layers = 1, .block = {.heads = 2}, .name = "e"});
  EXPECT_THAT(
      missing(encoder, "e"),
      ElementsAre("layers.0.linear1.bias", "layers.0.linear1.weight", "layers.0.linear2.bias",
                  "layers.0.linear2.weight", "layers.0.norm1.bias", "layers.0.norm1.weight",
                  "layers.0.norm2.bias", "layers.0.norm2.weight", "layers.0.self_attn.in_proj_bias",
                  "layers.0.self_attn.in_proj_weight", "layers.0.self_attn.out_proj.bias",
                  "layers.0.self_attn.out_proj.weight", "norm.bias", "norm.weight"));
  Program resnet("resnet");
  models::resnet(resnet.input("x", f32, {batch, 3, 32, 32}), {.depth = 50, .width = 0.1});
  const std::vector<std::string> names = missing(resnet, "resnet_0");
  EXPECT_EQ(names.size(), 53u + 53u * 4 + 2);
  for (const char* name : {"conv1.weight", "bn1.running_var", "fc.bias", "layer1.0.conv3.weight",
                           "layer1.0.downsample.1.bias", "layer3.5.bn2.weight"}) {
    EXPECT_THAT(names, ::testing::Contains(name));
  }
  EXPECT_THAT(names, Not(::testing::Contains("layer1.1.downsample.0.weight")));
}

// --- Files ---------------------------------------------------------------------------------------

TEST(StateFile, KeepsTensorsOfAllDTypesAndTexts) {
  const std::string path = testing::TempDir() + "/state_file.safetensors";
  StateDict tensors;
  for (const DTypeInfo& info : kDTypes) {
    tensors[std::string(info.name)] = floats({1, 0, 1}).cast(info.dtype);
  }
  save_safetensors(path, tensors, {{"epoch", "3"}});
  std::map<std::string, std::string> metadata;
  const StateDict back = load_safetensors(path, &metadata);
  EXPECT_EQ(metadata.at("epoch"), "3");
  EXPECT_EQ(names_of(back), names_of(tensors));
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(equal(tensor, back.at(name))) << name;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { save_safetensors(path, {{"__metadata__", {}}}); }),
              HasSubstr("__metadata__"));
  EXPECT_EQ(load_safetensors(path).size(), tensors.size());  // the old file is still there
}

TEST(StateFile, NamesAnUnknownDTypeAndRefusesDamage) {
  const std::string path = testing::TempDir() + "/damaged_state.safetensors";
  const auto error_for = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return error_of(ErrorKind::data, [&] { load_safetensors(path); });
  };
  const std::string header = R"({"w":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})";
  const std::string size{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
  EXPECT_THAT(error_for(size + header + "xy"),
              HasSubstr("the tensor \"w\" has the dtype F8_E4M3, which Trireme lacks"));
  save_safetensors(path, {{"w", counted({2})}});
  const std::string whole = read_file(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(error_for(whole.substr(0, length)), HasSubstr("damaged safetensors file"));
  }
  EXPECT_THAT(error_of(ErrorKind::not_found, [&] { load_safetensors(path + ".none"); }),
              HasSubstr(".none"));
}

}  // namespace
}  // namespace trireme
