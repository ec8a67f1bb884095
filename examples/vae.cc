// A variational autoencoder on MNIST: an encoder of pictures into 20 normal numbers, and a decoder
// that makes new pictures of such numbers. Writes new digits to vae.png. Kingma and Welling 2014.
//   vae [--quick]

#include <cstring>
#include <iostream>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

namespace {

constexpr std::int64_t kCode = 20;  // numbers that stand for a picture

// The mean and the logarithm of the variance of the code, [batch, kCode].
std::pair<tr::Value, tr::Value> encode(tr::Program& program, const tr::Value& image) {
  const auto scope = program.scope("encoder");
  const tr::Value x = nn::linear(nn::flatten(image), {.units = 400, .activation = nn::relu});
  const tr::Value mean = nn::linear(x, {.units = kCode});
  return {mean, nn::linear(x, {.units = kCode})};
}

// Logits of pixels, [batch, 784]. Called twice, with the same parameters.
tr::Value decode(tr::Program& program, const tr::Value& code) {
  const auto scope = program.shared_scope("decoder");
  const tr::Value x = nn::linear(code, {.units = 400, .activation = nn::relu});
  return nn::linear(x, {.units = 784});
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  try {
    tr::Program program("vae");
    const tr::Value image = program.input("image", tr::f32, {tr::batch, 1, 28, 28});
    // New random numbers in every run.
    const tr::Value noise = random_normal(program, {.shape = {tr::batch, kCode}});
    const auto [center, log_variance] = encode(program, image);
    const tr::Value logits = decode(program, center + exp(log_variance * 0.5) * noise);
    const tr::Value digits =
        reshape(sigmoid(decode(program, noise)), {.shape = {tr::batch, 1, 28, 28}});

    const tr::Value pixels = nn::binary_cross_entropy_with_logits(logits, nn::flatten(image));
    const tr::Value reconstruction = mean(sum(pixels, 1));
    // The divergence of the code's distribution from the standard normal one.
    const tr::Value divergence =
        mean(sum(exp(log_variance) + center * center - 1.0 - log_variance, 1)) * 0.5;
    minimize(reconstruction + divergence, tr::Adam{.learning_rate = 1e-3});

    tr::Session session(program);
    const auto train = tr::data::mnist("train").shuffle(1).take(quick ? 6400 : 60000).batch(128);
    for (int epoch = 0; epoch < (quick ? 1 : 10); ++epoch) {
      double of_pixels = 0, of_codes = 0;
      for (const tr::data::Batch& batch : train.epoch(epoch)) {
        const auto losses =
            session.run({{"image", batch.at("image")}}, {reconstruction, divergence},
                        {.training = true, .updates = true});
        of_pixels += losses[0].item<float>();
        of_codes += losses[1].item<float>();
      }
      const auto steps = static_cast<double>(train.size());
      std::cout << "epoch " << epoch + 1 << ": loss " << (of_pixels + of_codes) / steps
                << " (reconstruction " << of_pixels / steps << ", divergence " << of_codes / steps
                << ")\n";
    }
    const tr::Tensor any(tr::f32, {64, 1, 28, 28});  // only its size is read
    const tr::Tensor made = session.run({{"image", any}}, {digits})[0];
    tr::image::save_png("vae.png", tr::image::contact_sheet(made, {}, {.columns = 16}));
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
