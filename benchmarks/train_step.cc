// train_step MODEL(mlp|lenet) THREADS SECONDS: measures training steps per second on Fashion-MNIST
// and prints one JSON line. README.md explains the method; the programs of the peers do the same.

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <trireme/trireme.h>

#include "measuring.h"

namespace tr = trireme;
namespace nn = trireme::nn;

namespace {

constexpr std::int64_t kBatch = 64;

tr::Value mlp(const tr::Value& image) {
  tr::Value x = nn::flatten(image);
  x = nn::linear(x, {.units = 200, .activation = nn::relu});
  x = nn::linear(x, {.units = 200, .activation = nn::relu});
  return nn::linear(x, {.units = 10});
}

tr::Value lenet(const tr::Value& image) {
  tr::Value x =
      nn::conv2d(image, {.channels = 6, .kernel = 5, .padding = 2, .activation = nn::relu});
  x = nn::max_pool(x, {.kernel = 2});
  x = nn::conv2d(x, {.channels = 16, .kernel = 5, .activation = nn::relu});
  x = nn::max_pool(x, {.kernel = 2});
  x = nn::linear(nn::flatten(x), {.units = 120, .activation = nn::relu});
  x = nn::linear(x, {.units = 84, .activation = nn::relu});
  return nn::linear(x, {.units = 10});
}

int measure(const std::string& model, int threads, double seconds) {
  const tr::data::Batch data = tr::data::fashion_mnist("train").all();
  const tr::Tensor& images = data.at("image");
  const tr::Tensor& labels = data.at("label");
  const std::int64_t batches = images.shape()[0] / kBatch;

  tr::Program program(model);
  const tr::Value image = program.input("image", tr::f32, {tr::batch, 1, 28, 28});
  const tr::Value label = program.input("label", tr::i64, {tr::batch});
  const tr::Value logits = model == "mlp" ? mlp(image) : lenet(image);
  const tr::Value loss = mean(nn::cross_entropy(logits, label));
  tr::minimize(loss, tr::Adam{.learning_rate = 1e-3});

  tr::Session session(program, {.threads = threads});
  float last = 0;
  const bench::Timing timing = bench::measure(seconds, [&](std::int64_t i) {
    const std::int64_t begin = i % batches * kBatch;
    const tr::Feeds feeds = {{"image", images.rows(begin, begin + kBatch)},
                             {"label", labels.rows(begin, begin + kBatch)}};
    last = session.run(feeds, {loss}, {.training = true, .updates = true})[0].item<float>();
  });
  std::cout << "{\"name\": \"trireme\", \"case\": \"" << model << "\", \"threads\": " << threads
            << ", \"steps_per_second\": " << timing.steps_per_second
            << ", \"peak_mb\": " << bench::peak_memory_mb() << ", \"loss\": " << last << "}\n";
  if (std::getenv("TRIREME_PROFILE") != nullptr) std::cerr << session.profile_table();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string model = argc > 1 ? argv[1] : "";
  if (argc != 4 || (model != "mlp" && model != "lenet")) {
    std::cerr << "usage: train_step mlp|lenet THREADS SECONDS\n";
    return 2;
  }
  try {
    return measure(model, std::atoi(argv[2]), std::atof(argv[3]));
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
