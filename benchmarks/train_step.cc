// train_step MODEL(mlp|lenet) THREADS SECONDS: steps per second of training on Fashion-MNIST, as one
// JSON line. What is measured and how is said in README.md; the peers' programs do the same.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <trireme/trireme.h>

namespace tr = trireme;
namespace nn = trireme::nn;

namespace {

constexpr std::int64_t kBatch = 64;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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

// Calls step(i) for i = 0, 1 ... as benchmarks/compare/batches.py does: a quarter of the time is
// warm-up, then windows of 0.2 s, of which the median counts.
template <class Step>
double median_rate(double seconds, const Step& step) {
  std::int64_t i = 0;
  const auto run = [&](double limit, int least) {
    const double start = now();
    int count = 0;
    while (count < least || now() - start < limit) {
      step(i++);
      ++count;
    }
    return count / (now() - start);
  };
  run(seconds / 4, 30);
  std::vector<double> rates;
  while (rates.size() < 3 || static_cast<double>(rates.size()) * 0.2 < seconds * 0.75) {
    rates.push_back(run(0.2, 3));
  }
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
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
  const double rate = median_rate(seconds, [&](std::int64_t i) {
    const std::int64_t begin = i % batches * kBatch;
    const tr::Feeds feeds = {{"image", images.rows(begin, begin + kBatch)},
                             {"label", labels.rows(begin, begin + kBatch)}};
    last = session.run(feeds, {loss}, {.training = true, .updates = true})[0].item<float>();
  });
  std::cout << "{\"name\": \"trireme\", \"model\": \"" << model << "\", \"threads\": " << threads
            << ", \"steps_per_second\": " << rate << ", \"loss\": " << last << "}\n";
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
