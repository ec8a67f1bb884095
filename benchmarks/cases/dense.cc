// Cases without sequences.

#include "case.h"

namespace bench {

bool is_statistic(const tr::Value& parameter) {
  return parameter.name().find(".running_") != std::string::npos;
}

namespace {

tr::Tensor numbers(Shape shape, std::uint64_t seed) {  // in [-1, 1)
  return made_up<float>(std::move(shape), seed, [](float u) { return 2 * u - 1; });
}

Case resnet20() {
  Case c{.program = tr::Program("resnet20")};
  const tr::Value image = c.program.input("image", tr::f32, {tr::batch, 3, 32, 32});
  const tr::Value label = c.program.input("label", tr::i64, {tr::batch});
  c.loss = mean(nn::cross_entropy(tr::models::resnet(image, {.depth = 20}), label));
  c.optimizer = tr::Momentum{.learning_rate = 0.05, .momentum = 0.9, .weight_decay = 1e-4};
  for (std::uint64_t i = 0; i < 4; ++i) {
    c.batches.push_back({{"image", numbers({128, 3, 32, 32}, i)}, {"label", labels(128, 100 + i)}});
  }
  return c;
}

Case transformer(double dropout) {
  Case c{.program = tr::Program("transformer")};
  const tr::Value x = c.program.input("x", tr::f32, {tr::batch, 64, 256});
  const tr::Value label = c.program.input("label", tr::i64, {tr::batch});
  const tr::Value y = nn::transformer_encoder(
      x, {.layers = 4, .block = {.heads = 8, .feed_forward = 1024, .dropout = dropout}});
  const tr::Value logits = nn::linear(mean(y, {.axes = {1}}), {.units = 10});
  c.loss = mean(nn::cross_entropy(logits, label));
  c.optimizer = tr::Adam{.learning_rate = 1e-4};
  for (std::uint64_t i = 0; i < 4; ++i) {
    c.batches.push_back({{"x", numbers({16, 64, 256}, i)}, {"label", labels(16, 100 + i)}});
  }
  return c;
}

Case deepfm() {
  constexpr std::int64_t kRows = 1'000'000, kFields = 26, kBatch = 512;
  Case c{.program = tr::Program("deepfm")};
  const tr::Value ids = c.program.input("ids", tr::i64, {tr::batch, kFields});
  const tr::Value click = c.program.input("click", tr::f32, {tr::batch, 1});
  const tr::Value logits =
      tr::models::deepfm({{.ids = ids, .rows = kRows}}, {}, {.width = 16, .sparse_gradient = true});
  c.loss = mean(nn::binary_cross_entropy_with_logits(logits, click));
  c.optimizer = tr::Adam{.learning_rate = 1e-3};
  for (std::uint64_t i = 0; i < 64; ++i) {
    // Skewed: a few rows are frequent and many are rare.
    const auto row = [](float u) { return static_cast<double>(u * u * u) * kRows; };
    const auto clicked = [](float u) { return u < 0.25F ? 1 : 0; };
    c.batches.push_back({{"ids", made_up<std::int64_t>({kBatch, kFields}, i, row)},
                         {"click", made_up<float>({kBatch, 1}, 100 + i, clicked)}});
  }
  return c;
}

// Twelve elementwise ops on values of x's size.
tr::Value chain(const tr::Value& x) {
  const tr::Value a = nn::sigmoid(x * 1.5 + 0.25);
  const tr::Value b = nn::relu(a * x - 0.5) + x;
  const tr::Value c = nn::tanh(b);
  return (c * c + a) * x - b;
}

Case elementwise() {
  Case c{.program = tr::Program("elementwise")};
  const tr::Value x =
      c.program.parameter("x", tr::f32, {1'000'000}, {.initializer = nn::normal(0, 1)});
  c.loss = sum(chain(x));
  // Only an update needs the gradient. This one is too small to change x noticeably.
  c.optimizer = tr::Sgd{.learning_rate = 1e-9};
  c.batches.push_back({});
  return c;
}

// The parameters of ResNet-18 for 1000 classes, initialized to 0.5, and constant gradients.
Case adam() {
  tr::Program network("resnet18");
  const tr::Value image = network.input("image", tr::f32, {tr::batch, 3, 224, 224});
  tr::models::resnet(image, {.depth = 18, .classes = 1000});
  Case c{.program = tr::Program("adam")};
  c.optimizer = tr::Adam{.learning_rate = 1e-3};
  c.batches.emplace_back();
  for (const tr::Value& parameter : network.parameters()) {
    if (is_statistic(parameter)) continue;
    const std::string number = std::to_string(c.given.size());
    c.given.push_back(c.program.parameter("p" + number, tr::f32, parameter.shape(),
                                          {.initializer = nn::constant(0.5)}));
    c.gradients.push_back(c.program.input("g" + number, tr::f32, parameter.shape()));
    Shape shape;
    for (const tr::Dim& dim : parameter.shape()) shape.push_back(dim.constant());
    c.batches[0]["g" + number] = numbers(shape, c.given.size() - 1);
  }
  return c;
}

}  // namespace

Case make_dense(const std::string& name, double dropout) {
  if (name == "resnet20") return resnet20();
  if (name == "transformer") return transformer(dropout);
  if (name == "deepfm") return deepfm();
  if (name == "elementwise") return elementwise();
  if (name == "adam") return adam();
  return {.program = tr::Program("none")};
}

}  // namespace bench
