// A Siamese network on MNIST: one network, applied to two pictures, that puts pictures of the same
// digit close to each other and others apart. Hadsell, Chopra and LeCun 2006.
//   siamese [--quick]

#include <array>
#include <cstring>
#include <iostream>
#include <random>
#include <vector>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

namespace {

constexpr std::int64_t kPairs = 64;  // in a batch
constexpr std::int64_t kPixels = 28 * 28;

// A point for each picture, [batch, 16]. Called twice, with the same parameters.
tr::Value embed(tr::Program& program, const tr::Value& image) {
  const auto scope = program.shared_scope("embedding");
  tr::Value x = nn::conv2d(image, {.channels = 16, .kernel = 5, .activation = nn::relu});
  x = nn::max_pool(x, {.kernel = 2});
  x = nn::conv2d(x, {.channels = 32, .kernel = 5, .activation = nn::relu});
  return nn::linear(nn::flatten(nn::max_pool(x, {.kernel = 2})), {.units = 16});
}

// Pictures, and where those of each digit are.
struct Pictures {
  explicit Pictures(const tr::data::Dataset& data) {
    for (const tr::data::Batch& batch : data.take(10000).batch(10000).epoch(0)) {
      images = batch.at("image");
      labels = batch.at("label").to_vector<std::int64_t>();
    }
    for (std::size_t i = 0; i < labels.size(); ++i) {
      of_digit[static_cast<std::size_t>(labels[i])].push_back(i);
    }
  }
  tr::Tensor images;
  std::vector<std::int64_t> labels;
  std::array<std::vector<std::size_t>, 10> of_digit;
};

// Random pictures, each with one of the same digit (same = 1) or any other one.
tr::Feeds pairs(const Pictures& from, std::mt19937& random) {
  tr::Tensor a(tr::f32, {kPairs, 1, 28, 28}), b(tr::f32, {kPairs, 1, 28, 28});
  tr::Tensor same(tr::f32, {kPairs});
  const auto any_of = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  const auto copy = [&](std::size_t picture, tr::Tensor& to, std::int64_t place) {
    std::copy_n(from.images.data<float>() + static_cast<std::int64_t>(picture) * kPixels, kPixels,
                to.data<float>() + place * kPixels);
  };
  for (std::int64_t i = 0; i < kPairs; ++i) {
    const std::size_t first = any_of(from.labels.size());
    const auto& alike = from.of_digit[static_cast<std::size_t>(from.labels[first])];
    const std::size_t second =
        i % 2 == 0 ? alike[any_of(alike.size())] : any_of(from.labels.size());
    copy(first, a, i);
    copy(second, b, i);
    same.data<float>()[i] = from.labels[first] == from.labels[second] ? 1.0f : 0.0f;
  }
  return {{"a", a}, {"b", b}, {"same", same}};
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  try {
    tr::Program program("siamese");
    const tr::Value a = program.input("a", tr::f32, {tr::batch, 1, 28, 28});
    const tr::Value b = program.input("b", tr::f32, {tr::batch, 1, 28, 28});
    const tr::Value same = program.input("same", tr::f32, {tr::batch});
    const tr::Value of_a = embed(program, a), of_b = embed(program, b);
    const tr::Value distance = vector_norm(of_a - of_b, 2, {.axes = {1}});
    // Pictures of different digits get a distance of 1 or more.
    const tr::Value loss = mean(nn::contrastive(of_a, of_b, same, {.margin = 1}));
    minimize(loss, tr::Adam{.learning_rate = 1e-3});

    tr::Session session(program);
    std::mt19937 random(1);
    const Pictures train(tr::data::mnist("train").shuffle(1)), test(tr::data::mnist("test"));
    const int steps = quick ? 60 : 300;
    for (int epoch = 0; epoch < (quick ? 1 : 10); ++epoch) {
      double sum = 0, right = 0;
      for (int step = 0; step < steps; ++step) {
        const tr::RunOptions mode{.training = true, .updates = true};
        sum += session.run(pairs(train, random), {loss}, mode)[0].item<float>();
      }
      for (int batch = 0; batch < 20; ++batch) {
        const tr::Feeds feeds = pairs(test, random);
        const tr::Tensor found = session.run(feeds, {distance})[0];
        for (std::int64_t i = 0; i < kPairs; ++i) {
          const bool close = found.data<float>()[i] < 0.5f;
          right += close == (feeds.at("same").data<float>()[i] == 1.0f) ? 1 : 0;
        }
      }
      std::cout << "epoch " << epoch + 1 << ": loss " << sum / steps << ", right about new pairs "
                << right / (20 * kPairs) << '\n';
    }
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
