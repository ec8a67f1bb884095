// onnx_export_networks FOLDER: exports networks of the bank and small Programs of single ops to
// ONNX and writes a case (export_case.h) for each, with symbols of two sizes and with two versions
// of its operators. Prints the names of cases that cannot be exported, with the reason, and exits
// with 1.

#include <functional>
#include <iostream>

#include "export_case.h"
#include "trireme/trireme.h"

using namespace trireme;  // NOLINT

namespace {

struct Network {
  std::string name;
  std::function<std::vector<Value>(Program&)> build;
  testing::Drawing drawing = {.low = -1};
  bool has_empty = false;  // also without any rows of sequences
};

Value ids(Program& p, const std::string& name, const Shape& shape = {batch}) {
  return p.input(name, i64, shape);
}
Value words(Program& p, const std::string& name) { return p.input(name, i64, ragged({batch})); }
Value images(Program& p, std::int64_t size, std::int64_t channels = 3) {
  return p.input("x", f32, {batch, channels, size, size});
}
Value rows(Program& p, const Shape& shape = {batch, 4}) { return p.input("x", f32, shape); }

// --- The bank ----------------------------------------------------------------------------------

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

std::vector<Value> wide_and_deep(Program& p) {
  return {models::wide_and_deep({{ids(p, "a"), 5}, {ids(p, "b"), 7}, {ids(p, "c", {batch, 3}), 5}},
                                rows(p), {.hidden = {8}, .crosses = Pairs{{0, 1}}})};
}

std::vector<Value> translate(Program& p, models::TranslatorOptions::Cell cell, bool beam) {
  const Value source = words(p, "source");
  const Value previous = words(p, "previous");
  const models::Translator model = models::translator(
      source, previous,
      {.cell = cell, .source_rows = 5, .rows = 5, .width = 8, .units = 6, .heads = 2, .limit = 4});
  if (!beam) return {model.logits};
  const nn::Hypotheses found = nn::beam_search(
      model.decoder,
      {.beam = 2, .start = 1, .end = 2, .limit = 4, .over = sequence::lengths(source)});
  return {found.tokens, sequence::splits(found.tokens), found.scores, found.ended};
}

std::vector<Value> tag(Program& p) {
  const Value word = words(p, "word");
  const Value other = p.input("tag", i64, {word.dim(0)});
  return {models::tagger({{word, 5}, {other, 5}}, {},
                         {.classes = 4, .width = 6, .other_width = 3, .units = 5})};
}

std::vector<Network> bank() {
  using Cell = models::TranslatorOptions::Cell;
  const testing::Drawing numbers{.below = 5, .low = -1};
  return {
      {"softmax",
       [](Program& p) -> std::vector<Value> {
         return {softmax(models::softmax_regression(rows(p), {.classes = 3}))};
       }},
      {"mlp",
       [](Program& p) -> std::vector<Value> {
         return {models::mlp(rows(p), {.hidden = {8, 8}, .activation = nn::gelu, .dropout = 0.5})};
       }},
      {"lenet",
       [](Program& p) -> std::vector<Value> {
         return {models::lenet(models::normalize(images(p, 28, 1), {0.3}, {0.5}), {})};
       }},
      {"vgg",
       [](Program& p) -> std::vector<Value> {
         return {models::vgg(
             images(p, 32),
             {.depth = 11, .width = 0.125, .batch_norm = true, .hidden = {16}, .classes = 5})};
       }},
      {"resnet20",
       [](Program& p) -> std::vector<Value> {
         return {models::resnet(images(p, 32), {.width = 0.25})};
       }},
      {"resnet50",
       [](Program& p) -> std::vector<Value> {
         return {models::resnet(images(p, 64), {.depth = 50, .width = 0.125})};
       }},
      {"mobilenet_v2",
       [](Program& p) -> std::vector<Value> {
         return {models::mobilenet_v2(images(p, 32),
                                      {.width = 0.25, .small_input = true, .classes = 5})};
       }},
      {"transformer_of_words",
       [](Program& p) -> std::vector<Value> {
         return {models::transformer_encoder(
             ids(p, "words", {batch, 6}),
             {.width = 8, .rows = 5, .padding_id = 0, .layers = 1, .heads = 2})};
       },
       numbers},
      {"transformer_of_images",
       [](Program& p) -> std::vector<Value> {
         return {
             models::transformer_encoder(images(p, 12, 1), {.width = 8,
                                                            .patch = nn::Pair{4, 4},
                                                            .positions = models::Positions::rotary,
                                                            .layers = 1,
                                                            .heads = 2})};
       }},
      {"transformer_blockwise",
       [](Program& p) -> std::vector<Value> {
         return {models::transformer_encoder(rows(p, {batch, 7, 4}),
                                             {.width = 8,
                                              .positions = models::Positions::learned,
                                              .layers = 2,
                                              .heads = 4,
                                              .key_heads = 2,
                                              .blockwise = true,
                                              .causal = true})};
       }},
      {"wide_and_deep", wide_and_deep, numbers},
      {"deepfm",
       [](Program& p) -> std::vector<Value> {
         return {models::deepfm({{ids(p, "a"), 5}, {ids(p, "b", {batch, 2}), 5}}, rows(p), {})};
       },
       numbers},
      {"two_tower",
       [](Program& p) -> std::vector<Value> {
         return {models::two_tower({ids(p, "user"), 5}, {ids(p, "item"), 5}, {.hidden = {8}})};
       },
       numbers},
      {"skip_gram",
       [](Program& p) -> std::vector<Value> {
         return {models::skip_gram({ids(p, "center"), 5}, {ids(p, "others", {batch, 3}), 5}, {})};
       },
       numbers},
      {"word_tree",
       [](Program& p) -> std::vector<Value> {
         return {models::skip_gram({ids(p, "center"), 5}, {words(p, "path"), 5}, {.bias = true})};
       },
       numbers, true},
      {"tagger", tag, numbers, true},
      {"translator_gru", [](Program& p) { return translate(p, Cell::gru, false); }, numbers, true},
      {"translator_transformer", [](Program& p) { return translate(p, Cell::transformer, false); },
       numbers, true},
      {"beam_gru", [](Program& p) { return translate(p, Cell::gru, true); }, numbers},
      {"beam_transformer", [](Program& p) { return translate(p, Cell::transformer, true); },
       numbers},
  };
}

// --- Networks of sequences ---------------------------------------------------------------------

Value embedded(Program& p) {
  return nn::embedding(words(p, "word"), {.num_embeddings = 5, .dim = 4});
}

std::vector<Network> sequences() {
  const testing::Drawing numbers{.below = 5, .low = -1};
  const auto network = [&](const char* name, auto build) {
    return Network{name, [build](Program& p) { return build(p); }, numbers, true};
  };
  using Results = std::vector<Value>;
  return {
      network("text_mean", [](Program& p) -> Results { return {sequence::mean(embedded(p))}; }),
      network("text_max", [](Program& p) -> Results { return {sequence::max(embedded(p))}; }),
      network("text_last", [](Program& p) -> Results { return {sequence::last(embedded(p))}; }),
      network("text_softmax",
              [](Program& p) -> Results {
                return {sequence::softmax(nn::linear(embedded(p), {.units = 1}))};
              }),
      network("text_convolution",
              [](Program& p) -> Results {
                return {sequence::max(nn::sequence_conv(embedded(p), {.units = 3, .kernel = 3}))};
              }),
      network("text_lstm",
              [](Program& p) -> Results {
                const auto y = nn::lstm_with_states(
                    embedded(p), {.units = 3, .layers = 2, .bidirectional = true});
                return {y.outputs, y.h, y.c};
              }),
      network("text_gru",
              [](Program& p) -> Results {
                return {nn::gru(embedded(p), {.units = 3, .reverse = true})};
              }),
      network("padded",
              [](Program& p) -> Results {
                const Value x = embedded(p);
                const Dim longest = sequence::longest(x);
                const Value dense = sequence::pad(x, longest);
                return {dense, sequence::unpad(dense * 2.0, x)};
              }),
      network("attention_of_rows",
              [](Program& p) -> Results {
                const Value x = embedded(p);
                return {nn::multi_head_attention(x, x, x,
                                                 {.heads = 2, .causal = true, .blockwise = true})};
              }),
  };
}

// --- Single ops --------------------------------------------------------------------------------

using Results = std::vector<Value>;

Results sums_and_orders(Program& p) {
  const Value x = rows(p, {batch, 4, 3});
  const auto sorted = sort(x, {.axis = 1, .descending = true});
  const auto top = top_k(x, {.k = 2, .axis = 1, .largest = false});
  const auto largest = cummax(x, {.axis = 1});
  return {sorted[0],
          sorted[1],
          top[0],
          top[1],
          argsort(x, {.axis = 0}),
          cumsum(x, {.axis = 1, .exclusive = true, .reverse = true}),
          largest[0],
          largest[1]};
}

Results scatters(Program& p) {
  const Value x = rows(p, {batch, 3});
  const Value i = ids(p, "i", {batch}), j = ids(p, "j", {batch, 3}), k = ids(p, "k", {batch, 2});
  return {scatter_add(i - 1.0, x, {.rows = {4}}),
          scatter_add_along_axis(j, x, {.size = {4}, .axis = 0}),
          scatter_add_nd(k, x, {.shape = {3, 4, 3}})};
}

Results integers(Program& p) {
  const Value a = ids(p, "a"), b = ids(p, "b");
  const Value x = rows(p), low = floor(x * 3.0);
  return {a / b,
          floor_mod(a - 2.0, b - 2.0),
          floor_mod(x, 0.3),
          atan2(low, transpose(low, {.permutation = {0, 1}})),
          any(a < b, {}),
          all(a < b, {}),
          any(x > 0.5, {.axes = {1}}),
          bitwise_and(a, b)};
}

Results loops(Program& p) {
  const Value x = rows(p), n = ids(p, "n");
  const Value count = reduce_max(n);
  const auto [y, steps] = while_loop(
      std::tuple{x, count}, [](const Value&, const Value& left) { return left > 0.0; },
      [](const Value& value, const Value& left) { return std::tuple{value * 2.0, left - 1.0}; });
  const Value chosen = cond(sum(x) > 0.0, [&] { return x + 1.0; }, [&] { return x * 3.0; });
  const auto scanned = scan({constant(p, {.value = 0, .shape = {4}})}, {x},
                            [](const Values& carried, const Values& row) {
                              const Value next = carried[0] * 0.5 + row[0];
                              return ScanStep{{next}, {next * 2.0}};
                            },
                            {.reverse = true});
  return {y, steps, chosen, scanned.carried[0], scanned.outputs[0]};
}

Results windows(Program& p) {
  const Value x = images(p, 8);
  return {
      nn::conv_transpose2d(x, {.channels = 4, .kernel = 3, .stride = 2, .padding = 1}),
      trireme::pad(
          x, {.low = {0, 0, 1, 0}, .high = {0, 0, 0, 2}, .interior = {0, 0, 1, 2}, .value = 0.5})};
}

Results transforms(Program& p) {
  const Value x = rows(p, {batch, 6, 2});
  const Value line = reshape(x, {.shape = {batch, 12}});
  return {complex_fft(x, {}),
          complex_fft(x, {.inverse = true}),
          real_fft(line),
          inverse_real_fft(x, {.size = 10}),
          inverse_real_fft(x, {.size = 11}),
          inverse_real_fft(slice(x, {.starts = {0, 0, 0}, .limits = {-1, 1, -1}}), {.size = 1})};
}

// Small numbers, of which 1 + x and exp(x) - 1 lose digits, and large ones.
Results logarithms(Program& p) {
  const Value x = rows(p), tiny = x * 1e-6, zero = x * 0.0;
  return {log1p(tiny), expm1(tiny),           log1p(x),          expm1(x),       log1p(zero),
          expm1(zero), log1p(exp(x * 200.0)), log1p(zero - 1.0), expm1(x * 30.0)};
}

std::vector<Network> single_ops() {
  const testing::Drawing numbers{.rows = 3, .below = 3, .low = -1};
  return {{"orders", sums_and_orders},
          {"scatters", scatters, numbers},
          {"integers", integers, numbers},
          {"loops", loops, numbers},
          {"windows", windows},
          {"transforms", transforms},
          {"logarithms", logarithms}};
}

// Parameters that start as zeros or ones would hide mistakes.
void disturb(Session& session, const Program& program) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> more(0.01F, 0.2F);
  for (const Value& parameter : program.parameters()) {
    if (parameter.dtype() != f32) continue;
    const std::string name = parameter.name().substr(1);
    Tensor value = session.parameter(name).clone();
    for (std::int64_t i = 0; i < value.elements(); ++i) value.data<float>()[i] += more(random);
    session.set_parameter(name, value);
  }
}

void write_cases(const Network& network, const std::string& folder) {
  Program program(network.name);
  const std::vector<Value> outputs = network.build(program);
  Session session(program);
  disturb(session, program);
  const std::string saved = folder + "/saved/" + network.name;
  std::filesystem::create_directories(folder + "/saved");
  save_model(program, session, saved, {.outputs = outputs});
  trireme::Model model = load_model(saved);
  testing::Drawing drawing = network.drawing;
  const auto write = [&](const std::string& name, std::int64_t opset) {
    testing::write_case(model, folder + "/cases/" + network.name + name,
                        testing::RandomFeeds(model, drawing).feeds(), opset);
  };
  for (const std::int64_t size : {3, 5}) {
    drawing.rows = size;
    write("_" + std::to_string(size), size == 3 ? 18 : 25);
  }
  drawing.empty = true;
  if (network.has_empty) write("_empty", 20);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: onnx_export_networks FOLDER\n";
    return 2;
  }
  int failed = 0;
  for (const auto& list : {bank(), sequences(), single_ops()}) {
    for (const Network& network : list) {
      try {
        write_cases(network, argv[1]);
      } catch (const Error& error) {
        std::cerr << network.name << ": " << error.what() << "\n";
        ++failed;
      }
    }
  }
  return failed == 0 ? 0 : 1;
}
