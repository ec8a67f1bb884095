// Loads weights of PyTorch into the same networks of Trireme and runs them, for torch_weights.py.
//   load_torch FOLDER [NAME...]
// Reads FOLDER/NAME.weights.safetensors and the feeds FOLDER/NAME.inputs.safetensors. Writes
// FOLDER/NAME.outputs.safetensors.

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trireme/trireme.h"

namespace {

using namespace trireme;
using Modules = std::map<std::string, std::string>;

struct Network {
  std::string name;
  std::function<Value(Program&)> build;
  Modules modules;  // as in LoadOptions
};

Value rows(Program& program, std::int64_t width) {
  return program.input("x", f32, ragged({batch}, {width}));
}

Value steps(Program& program, const char* name, const char* symbol, std::int64_t width) {
  return program.input(name, f32, {batch, Dim(symbol), width});
}

std::vector<Network> recurrent_networks() {
  const auto lstm = [](nn::LstmOptions options) {
    options.name = "rnn";
    return [=](Program& program) { return nn::lstm(rows(program, 12), options); };
  };
  return {
      {"lstm", lstm({.units = 20, .layers = 2, .bidirectional = true}), {{"", "rnn"}}},
      {"lstm_projection", lstm({.units = 20, .projection = 7, .forget_bias = 0}), {{"", "rnn"}}},
      {"gru",
       [](Program& program) {
         return nn::gru(rows(program, 12), {.units = 9, .layers = 2, .bidirectional = true});
       },
       {{"", "gru_0"}}},
      {"simple_rnn",
       [](Program& program) { return nn::simple_rnn(rows(program, 12), {.units = 9}); },
       {{"", "simple_rnn_0"}}},
      {"lstm_cell",
       [](Program& program) {
         const Value x = program.input("x", f32, {batch, 5});
         const nn::LstmState state{program.input("h", f32, {batch, 4}),
                                   program.input("c", f32, {batch, 4})};
         return nn::lstm_cell(x, state, {.units = 4, .name = "cell"}).h;
       },
       {{"", "cell"}}},
      {"gru_cell",
       [](Program& program) {
         const Value x = program.input("x", f32, {batch, 5});
         return nn::gru_cell(x, program.input("h", f32, {batch, 4}), {.units = 4, .name = "cell"});
       },
       {{"", "cell"}}},
  };
}

std::vector<Network> attention_networks() {
  const auto block = [](bool pre_norm) {
    return nn::TransformerBlockOptions{
        .heads = 4, .feed_forward = 48, .dropout = 0, .pre_norm = pre_norm};
  };
  return {
      {"transformer_encoder",
       [=](Program& program) {
         return nn::transformer_encoder(steps(program, "x", "steps", 32),
                                        {.layers = 3, .block = block(true), .name = "encoder"});
       },
       {{"", "encoder"}}},
      {"transformer_encoder_post_norm",
       [=](Program& program) {
         return nn::transformer_encoder(steps(program, "x", "steps", 32),
                                        {.layers = 2, .block = block(false), .name = "encoder"});
       },
       {{"", "encoder"}}},
      {"transformer_decoder",
       [=](Program& program) {
         const Value x = steps(program, "x", "steps", 32);
         return nn::transformer_decoder(x, steps(program, "memory", "others", 32),
                                        {.layers = 2, .block = block(true), .name = "decoder"});
       },
       {{"", "decoder"}}},
      {"attention_of_other_widths",
       [](Program& program) {
         const Value key = steps(program, "key", "others", 6);
         const Value value = steps(program, "value", "others", 10);
         return nn::multi_head_attention(steps(program, "x", "steps", 8), key, value,
                                         {.heads = 2, .name = "attention"});
       },
       {{"", "attention"}}},
  };
}

std::vector<Network> image_networks() {
  return {
      {"resnet18",
       [](Program& program) {
         const Value x = program.input("x", f32, {batch, 3, 224, 224});
         return models::resnet(x, {.depth = 18, .classes = 1000});
       },
       {{"", "resnet_0"}}},
      {"resnet50",
       [](Program& program) {
         const Value x = program.input("x", f32, {batch, 3, 64, 64});
         return models::resnet(x, {.depth = 50, .stride_in_3x3 = true, .classes = 10});
       },
       {{"", "resnet_0"}}},
      {"vgg11",
       [](Program& program) {
         const Value x = program.input("x", f32, {batch, 3, 32, 32});
         return models::vgg(x, {.depth = 11, .width = 0.25, .hidden = {24, 16}, .classes = 10});
       },
       {{"", "vgg_0"}}},
      {"vgg13_bn",
       [](Program& program) {
         const Value x = program.input("x", f32, {batch, 3, 32, 32});
         return models::vgg(
             x,
             {.depth = 13, .width = 0.25, .batch_norm = true, .hidden = {24, 16}, .classes = 10});
       },
       {{"", "vgg_0"}}},
      {"mobilenet_v2",
       [](Program& program) {
         const Value x = program.input("x", f32, {batch, 3, 64, 64});
         return models::mobilenet_v2(x, {.classes = 10});
       },
       {{"", "mobilenet_v2_0"}}},
      {"convolutions",  // a Sequential, whose modules are numbers
       [](Program& program) {
         const Value x = program.input("x", f32, {batch, 4, 11, 11});
         Value y = nn::conv2d(x, {.channels = 8, .kernel = 3, .stride = 2, .groups = 2});
         y = nn::prelu(nn::group_norm(y, {.groups = 2}), {.per_channel = true});
         y = nn::conv_transpose2d(y, {.channels = 6, .kernel = 3, .stride = 2, .groups = 2});
         y = reshape(y, {.shape = {y.dim(0), 6, 121}});
         y = nn::conv1d(y, {.channels = 5, .kernel = 4});
         y = nn::conv_transpose1d(nn::instance_norm(y, {.affine = true}),
                                  {.channels = 5, .kernel = 3});
         y = reshape(y, {.shape = {y.dim(0), 1, 5, 10, 12}});
         y = nn::flatten(nn::conv3d(y, {.channels = 2, .kernel = 3}));
         return nn::layer_norm(nn::linear(y, {.units = 7, .bias = false}), {});
       },
       {{"0", "conv2d_0"},
        {"1", "group_norm_0"},
        {"2", "prelu_0"},
        {"3", "conv_transpose2d_0"},
        {"5", "conv1d_0"},
        {"6", "instance_norm_0"},
        {"7", "conv_transpose1d_0"},
        {"10", "conv3d_0"},
        {"12", "linear_0"},
        {"13", "layer_norm_0"}}},
      {"embedding",  // the paths are equal
       [](Program& program) {
         const Value ids = program.input("x", i64, {batch, 6});
         const auto scope = program.scope("words");
         const Value x =
             nn::embedding(ids, {.num_embeddings = 9, .dim = 5, .padding_row = 0, .name = "table"});
         return nn::linear(x, {.units = 3, .name = "out"});
       },
       {}},
  };
}

void run(const Network& network, const std::string& stem) {
  Program program(network.name);
  const Value output = network.build(program);
  Session session(program);
  load_state_dict(session, load_safetensors(stem + ".weights.safetensors"),
                  {.layout = Layout::torch, .modules = network.modules});
  const StateDict feeds = load_safetensors(stem + ".inputs.safetensors");
  save_safetensors(stem + ".outputs.safetensors", {{"output", session.run(feeds, {output})[0]}});
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> names(argv + std::min(argc, 2), argv + argc);
  try {
    for (const auto& networks : {image_networks(), recurrent_networks(), attention_networks()}) {
      for (const Network& network : networks) {
        const bool listed = std::find(names.begin(), names.end(), network.name) != names.end();
        if (names.empty() || listed) run(network, std::string(argv[1]) + "/" + network.name);
      }
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
