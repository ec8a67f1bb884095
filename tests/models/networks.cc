// Writes, for each model of the bank, its parameters, an input and what the compiled model makes of
// it, in inference and in training mode: FOLDER/<name>.safetensors, and the parameters in the order
// in which the model made them: FOLDER/<name>.txt. For torch_reference.py.
//   model_references FOLDER [NAME...]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/safetensors.h"
#include "base/testing/noise.h"
#include "ir/program.h"
#include "trireme/models.h"
#include "trireme/session.h"

namespace {

using namespace trireme;

struct Network {
  std::string name;
  std::vector<std::int64_t> input;  // with the batch
  std::function<Value(const Value&)> build;
  std::int64_t ids = 0;  // the input is not numbers but ids in [0, ids)
};

std::vector<Network> networks() {
  using namespace models;
  const auto of_resnet = [](ResnetOptions options) {
    return [=](const Value& x) { return resnet(x, options); };
  };
  const auto of_vgg = [](VggOptions options) {
    return [=](const Value& x) { return vgg(x, options); };
  };
  const auto of_mobilenet = [](MobilenetV2Options options) {
    return [=](const Value& x) { return mobilenet_v2(x, options); };
  };
  const auto of_transformer = [](TransformerEncoderOptions options) {
    options.dropout = 0;
    return [=](const Value& x) { return transformer_encoder(x, options); };
  };
  return {
      {"mlp", {4, 1, 5, 6}, [](const Value& x) { return mlp(x, {.hidden = {8, 7}}); }},
      {"lenet", {3, 1, 28, 28}, [](const Value& x) { return lenet(x, {}); }},
      {"vgg11",
       {2, 3, 32, 32},
       of_vgg({.depth = 11, .width = 0.25, .hidden = {32}, .dropout = 0, .classes = 10})},
      {"vgg16_bn",
       {2, 3, 32, 32},
       of_vgg(
           {.width = 0.25, .batch_norm = true, .hidden = {32, 16}, .dropout = 0, .classes = 10})},
      {"resnet20", {3, 3, 32, 32}, of_resnet({})},
      {"resnet20_project", {3, 3, 32, 32}, of_resnet({.shortcut = Shortcut::project})},
      {"resnet18", {2, 3, 64, 64}, of_resnet({.depth = 18, .width = 0.5, .classes = 12})},
      {"resnet18_small_input",
       {2, 3, 32, 32},
       of_resnet({.depth = 18, .width = 0.25, .small_input = true})},
      {"resnet50", {6, 3, 64, 64}, of_resnet({.depth = 50, .width = 0.25})},
      {"resnet50_stride_in_3x3",
       {6, 3, 64, 64},
       of_resnet({.depth = 50, .width = 0.25, .stride_in_3x3 = true})},
      {"mobilenet_v2", {2, 3, 64, 64}, of_mobilenet({.dropout = 0, .classes = 20})},
      {"mobilenet_v2_half",
       {2, 3, 32, 32},
       of_mobilenet({.width = 0.5, .small_input = true, .dropout = 0, .classes = 20})},
      {"transformer_ids",
       {4, 9},
       of_transformer({.width = 16, .rows = 5, .padding_id = 0, .activation = nn::gelu}),
       5},
      {"transformer_numbers",
       {3, 7, 6},
       of_transformer({.classes = 3,
                       .width = 8,
                       .positions = Positions::learned,
                       .layers = 3,
                       .heads = 2,
                       .feed_forward = 12,
                       .pre_norm = false,
                       .pooling = Pooling::first})},
      {"transformer_patches",
       {2, 3, 8, 12},
       of_transformer({.width = 0,
                       .patch = nn::Pair(2, 4),
                       .positions = Positions::none,
                       .heads = 3,
                       .causal = true})},
  };
}

// Ids in [0, count); the last half of the first example is 0.
Tensor ids(const std::vector<std::int64_t>& shape, std::int64_t count) {
  const Tensor drawn = noise(shape, 7, 0, static_cast<double>(count));
  Tensor tensor(i64, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const bool padding = i < shape[1] && 2 * i >= shape[1];
    tensor.data<std::int64_t>()[i] =
        padding ? 0 : static_cast<std::int64_t>(drawn.data<float>()[i]);
  }
  return tensor;
}

// Weights keep what their initializers gave; what would be all 0 or all 1 is spread.
void spread_vectors(const Program& program, Session& session) {
  unsigned seed = 1;
  for (const auto& parameter : program.ir().parameters()) {
    const std::string& name = parameter->name();
    const ir::Type& type = parameter->value->type;
    if (type.rank() != 1) continue;
    const bool around_one = name.ends_with("_var") || name.ends_with("norm_0.weight") ||
                            name.ends_with("norm_1.weight") || name.ends_with("norm_2.weight") ||
                            name.ends_with("norm.weight");
    const double middle = around_one ? 1 : 0;
    session.set_parameter(name,
                          noise({type.shape[0].constant()}, ++seed, middle - 0.3, middle + 0.3));
  }
}

void write_network(const Network& network, const std::string& folder) {
  Program program("torch_reference");
  Shape shape(network.input.begin(), network.input.end());
  shape[0] = batch;
  const Value x = program.input("x", network.ids > 0 ? i64 : f32, shape);
  const Value logits = network.build(x);
  Session session(program, {.threads = 2});
  spread_vectors(program, session);
  Safetensors content;
  std::string order;
  for (const auto& parameter : program.ir().parameters()) {
    order += parameter->name() + "\n";
    content.tensors[parameter->name()] = session.parameter(parameter->name());
  }
  const Tensor input = network.ids > 0 ? ids(network.input, network.ids) : noise(network.input, 99);
  content.tensors["input"] = input;
  content.tensors["inference"] = session.run({{"x", input}}, {logits})[0];
  content.tensors["training"] = session.run({{"x", input}}, {logits}, {.training = true})[0];
  write_safetensors(folder + "/" + network.name + ".safetensors", content);
  write_file_atomically(folder + "/" + network.name + ".txt", order);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: model_references FOLDER [NAME...]\n");
    return 2;
  }
  const std::vector<std::string> wanted(argv + 2, argv + argc);
  for (const Network& network : networks()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), network.name) == wanted.end()) {
      continue;
    }
    write_network(network, argv[1]);
    std::printf("%s\n", network.name.c_str());
  }
}
