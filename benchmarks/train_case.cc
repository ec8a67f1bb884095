// train_case CASE THREADS SECONDS: training steps per second of one case of README.md, on made-up data
// that the peers' programs make likewise, as one JSON line.
// train_case CASE THREADS check FOLDER: saves the first parameters as a model in FOLDER and prints
// the losses of the first steps, without dropout, for compare/check.py.

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <trireme/trireme.h>

#include "measuring.h"

namespace tr = trireme;
namespace nn = trireme::nn;

namespace {

using Shape = std::vector<std::int64_t>;

struct Case {
  tr::Program program;
  tr::Value loss = {};  // empty: only the update runs
  tr::Optimizer optimizer = {};
  std::vector<tr::Feeds> batches = {};
  std::vector<tr::Value> given =
      {};  // parameters whose gradients are fed; others' come from the loss
  std::vector<tr::Value> gradients = {};

  void add_updates() const {
    if (gradients.empty()) tr::minimize(loss, optimizer);
    else nn::apply_updates(optimizer, given, gradients);
  }
};

tr::Tensor numbers(Shape shape, std::uint64_t seed) {  // in [-1, 1)
  return bench::made_up<float>(std::move(shape), seed, [](float u) { return 2 * u - 1; });
}
tr::Tensor labels(std::int64_t count, std::uint64_t seed) {  // 0 to 9
  return bench::made_up<std::int64_t>({count}, seed, [](float u) { return u * 10; });
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
    // Few rows are common and many are rare.
    const auto row = [](float u) { return static_cast<double>(u * u * u) * kRows; };
    const auto clicked = [](float u) { return u < 0.25F ? 1 : 0; };
    c.batches.push_back({{"ids", bench::made_up<std::int64_t>({kBatch, kFields}, i, row)},
                         {"click", bench::made_up<float>({kBatch, 1}, 100 + i, clicked)}});
  }
  return c;
}

// Twelve ops, all but one argument of which are of x's size.
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
  // A gradient is asked for by an update; this one changes x by less than its last digits matter.
  c.optimizer = tr::Sgd{.learning_rate = 1e-9};
  c.batches.push_back({});
  return c;
}

bool is_statistic(const tr::Value& parameter) {
  return parameter.name().find(".running_") != std::string::npos;
}

// The parameters of ResNet-18 for 1000 classes, all 0.5 at first, and constant gradients.
Case adam() {
  tr::Program network("resnet18");
  const tr::Value image = network.input("image", tr::f32, {tr::batch, 3, 224, 224});
  tr::models::resnet(image, {.depth = 18, .classes = 1000});
  Case c{.program = tr::Program("adam")};
  c.optimizer = tr::Adam{.learning_rate = 1e-3};
  c.batches.emplace_back();
  for (const tr::Value& like : network.parameters()) {
    if (is_statistic(like)) continue;
    const std::string number = std::to_string(c.given.size());
    c.given.push_back(c.program.parameter("p" + number, tr::f32, like.shape(),
                                          {.initializer = nn::constant(0.5)}));
    c.gradients.push_back(c.program.input("g" + number, tr::f32, like.shape()));
    Shape shape;
    for (const tr::Dim& dim : like.shape()) shape.push_back(dim.constant());
    c.batches[0]["g" + number] = numbers(shape, c.given.size() - 1);
  }
  return c;
}

Case make_case(const std::string& name, double dropout) {
  if (name == "resnet20") return resnet20();
  if (name == "transformer") return transformer(dropout);
  if (name == "deepfm") return deepfm();
  if (name == "elementwise") return elementwise();
  if (name == "adam") return adam();
  std::cerr << "usage: train_case resnet20|transformer|deepfm|elementwise|adam THREADS SECONDS\n";
  std::exit(2);
}

// One training step: the loss or, where there is none, 0.
float step(tr::Session& session, const Case& c, std::int64_t i) {
  const tr::Feeds& feeds = c.batches[static_cast<std::size_t>(i) % c.batches.size()];
  const tr::RunOptions mode{.training = true, .updates = true};
  if (!c.loss) {
    session.run(feeds, {}, mode);
    return 0;
  }
  return session.run(feeds, {c.loss}, mode)[0].item<float>();
}

// The drawing of first parameters is no compilation, so it is done before the first step.
void draw_parameters(tr::Session& session, const tr::Program& program) {
  for (const tr::Value& parameter : program.parameters()) {
    session.parameter(parameter.name().substr(1));
  }
}

int check(const std::string& name, int threads, const std::string& folder) {
  Case c = make_case(name, 0);
  tr::Session session(c.program, {.threads = threads});
  std::string names;
  for (const tr::Value& parameter : c.program.parameters()) {
    if (!is_statistic(parameter)) {
      names += (names.empty() ? "\"" : ", \"") + parameter.name().substr(1) + "\"";
    }
  }
  if (c.loss) tr::save_model(c.program, session, folder, {.outputs = {c.loss}});
  c.add_updates();
  std::vector<float> losses;
  for (std::int64_t i = 0; i < 5; ++i) {
    losses.push_back(step(session, c, i));
    if (!c.loss) losses.back() = session.parameter("p0").data<float>()[0];
  }
  std::cout << "{\"case\": \"" << name << "\", \"losses\": " << bench::list(losses)
            << ", \"parameters\": [" << names << "]}\n";
  return 0;
}

int measure(const std::string& name, int threads, double seconds) {
  Case c = make_case(name, 0.1);
  const double start = bench::now();
  c.add_updates();
  const double differentiated = bench::now() - start;
  tr::Session session(c.program, {.threads = threads});
  draw_parameters(session, c.program);
  float last = 0;
  const bench::Timing timing =
      bench::measure(seconds, [&](std::int64_t i) { last = step(session, c, i); });
  std::cout << "{\"name\": \"trireme\", \"case\": \"" << name << "\", \"threads\": " << threads
            << ", \"steps_per_second\": " << timing.steps_per_second
            << ", \"first_step_seconds\": " << timing.first_step_seconds
            << ", \"compile_seconds\": " << differentiated + session.statistics().compile_ms / 1000
            << ", \"kernels_compiled\": " << session.statistics().kernels_compiled
            << ", \"peak_mb\": " << bench::peak_memory_mb() << ", \"loss\": " << last << "}\n";
  if (std::getenv("TRIREME_PROFILE") != nullptr) std::cerr << session.profile_table();
  return std::isfinite(last) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 5 && std::string(argv[3]) == "check") {
      return check(argv[1], std::atoi(argv[2]), argv[4]);
    }
    if (argc == 4) return measure(argv[1], std::atoi(argv[2]), std::atof(argv[3]));
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
  std::cerr << "usage: train_case CASE THREADS SECONDS, or CASE THREADS check FOLDER\n";
  return 2;
}
