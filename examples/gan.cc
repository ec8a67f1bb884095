// A generative adversarial network on MNIST: two networks in one Program, each with updates of its
// own. Writes pictures of new digits to gan.png. Goodfellow et al. 2014, with the loss of the
// generator that does not saturate.
//   gan [--quick]

#include <cstring>
#include <iostream>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

namespace {

constexpr std::int64_t kNoise = 64;  // random numbers for each picture

tr::Value generate(tr::Program& program, const tr::Value& noise) {
  const auto scope = program.scope("generator");
  tr::Value x = nn::linear(noise, {.units = 128, .activation = nn::LeakyRelu{0.2}});
  x = nn::linear(nn::batch_norm(x), {.units = 512, .activation = nn::LeakyRelu{0.2}});
  x = nn::linear(nn::batch_norm(x), {.units = 784, .activation = nn::sigmoid});
  return reshape(x, {.shape = {tr::batch, 1, 28, 28}});
}

// A logit: large for real pictures. Called twice, with the same parameters.
tr::Value discriminate(tr::Program& program, const tr::Value& image) {
  const auto scope = program.shared_scope("discriminator");
  tr::Value x = nn::linear(nn::flatten(image), {.units = 256, .activation = nn::LeakyRelu{0.2}});
  x = nn::linear(nn::dropout(x, {.rate = 0.3}), {.units = 128, .activation = nn::LeakyRelu{0.2}});
  return nn::linear(x, {.units = 1});
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  try {
    tr::Program program("gan");
    const tr::Value image = program.input("image", tr::f32, {tr::batch, 1, 28, 28});
    // New random numbers in every run.
    const tr::Value noise = random_normal(program, {.shape = {tr::batch, kNoise}});
    const tr::Value fake = generate(program, noise);
    const tr::Value on_real = discriminate(program, image), on_fake = discriminate(program, fake);

    const tr::Value loss_d = mean(nn::softplus(-on_real)) + mean(nn::softplus(on_fake));
    const tr::Value loss_g = mean(nn::softplus(-on_fake));
    const tr::Adam adam{.learning_rate = 2e-4, .beta1 = 0.5};
    minimize(loss_d, adam, {.name = "d", .parameters = {"discriminator/*"}});
    minimize(loss_g, adam, {.name = "g", .parameters = {"generator/*"}});

    tr::Session session(program);
    const auto train = tr::data::mnist("train").shuffle(1).take(quick ? 6400 : 60000).batch(64);
    for (int epoch = 0; epoch < (quick ? 1 : 20); ++epoch) {
      double sum_d = 0, sum_g = 0;
      for (const tr::data::Batch& batch : train.epoch(epoch)) {
        const tr::Feeds feeds = {{"image", batch.at("image")}};
        const tr::RunOptions d{.training = true, .updates = true, .update = {"d"}};
        const tr::RunOptions g{.training = true, .updates = true, .update = {"g"}};
        sum_d += session.run(feeds, {loss_d}, d)[0].item<float>();
        sum_g += session.run(feeds, {loss_g}, g)[0].item<float>();
      }
      const auto steps = static_cast<double>(train.size());
      std::cout << "epoch " << epoch + 1 << ": loss of the discriminator " << sum_d / steps
                << ", of the generator " << sum_g / steps << '\n';
    }
    const tr::Tensor any(tr::f32, {64, 1, 28, 28});  // only its size is read
    const tr::Tensor digits = session.run({{"image", any}}, {fake})[0];
    tr::image::save_png("gan.png", tr::image::contact_sheet(digits, {}, {.columns = 16}));
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
