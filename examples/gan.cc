// A generative adversarial network (Goodfellow et al. 2014) on Fashion-MNIST: one Program with two
// sets of updates. The discriminator learns to tell pictures of the data set from generated ones,
// the generator to mislead it.
//   gan [--quick]

#include <cmath>
#include <cstring>
#include <iostream>
#include <random>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

constexpr std::int64_t kNoise = 64, kBatch = 64;

tr::Value generate(tr::Program& program, const tr::Value& noise) {
  const auto scope = program.scope("generator");
  tr::Value x = nn::linear(noise, {.units = 256, .activation = nn::leaky_relu});
  x = nn::batch_norm(nn::linear(x, {.units = 512, .activation = nn::leaky_relu}));
  return nn::linear(x, {.units = 784, .activation = nn::sigmoid});
}

// The logit of "this is a picture of the data set".
tr::Value discriminate(tr::Program& program, const tr::Value& picture) {
  const auto scope = program.shared_scope("discriminator");  // one set of parameters for all calls
  tr::Value x = nn::linear(picture, {.units = 256, .activation = nn::leaky_relu});
  x = nn::linear(x, {.units = 128, .activation = nn::leaky_relu});
  return nn::linear(x, {.units = 1});
}

// The mean of log(1 + exp(x)): the cross entropy of the logit x with label 0, of -x with label 1.
tr::Value loss_of(const tr::Value& x) { return mean(log1p_exp(x)); }

tr::Tensor normal_numbers(std::int64_t rows, std::mt19937& random) {
  tr::Tensor noise(tr::f32, {rows, kNoise});
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < noise.elements(); ++i) noise.data<float>()[i] = normal(random);
  return noise;
}

// The mean picture of a batch.
std::vector<double> mean_picture(const tr::Tensor& pictures) {
  const std::int64_t rows = pictures.dim(0);
  std::vector<double> mean(784);
  for (std::int64_t i = 0; i < rows * 784; ++i) {
    mean[static_cast<std::size_t>(i % 784)] +=
        pictures.data<float>()[i] / static_cast<double>(rows);
  }
  return mean;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const int epochs = quick ? 2 : 10;
  try {
    tr::Program program("gan");
    const tr::Value noise = program.input("noise", tr::f32, {tr::batch, kNoise});
    const tr::Value image = program.input("image", tr::f32, {tr::batch, 1, 28, 28});
    const tr::Value fake = generate(program, noise);
    const tr::Value on_real = discriminate(program, nn::flatten(image));
    const tr::Value on_fake = discriminate(program, fake);

    const tr::Value d_loss = loss_of(-on_real) + loss_of(on_fake);
    const tr::Value g_loss = loss_of(-on_fake);
    const tr::Adam adam{.learning_rate = 2e-4, .beta1 = 0.5};
    minimize(d_loss, adam, {.name = "discriminator", .parameters = {"discriminator/*"}});
    minimize(g_loss, adam, {.name = "generator", .parameters = {"generator/*"}});

    tr::Session session(program);
    std::mt19937 random(1);
    const tr::data::Dataset pictures = tr::data::fashion_mnist("train").take(quick ? 6400 : 60000);
    const tr::data::Batches batches = pictures.shuffle(1).batch(kBatch, {.drop_last = true});
    const tr::Tensor fixed_noise = normal_numbers(256, random);
    const std::vector<double> wanted = mean_picture(pictures.rows(0, 1000).at("image"));
    for (int epoch = 0; epoch < epochs; ++epoch) {
      double d_sum = 0, g_sum = 0;
      for (const tr::data::Batch& batch : batches.epoch(epoch)) {
        // Each run computes only what it fetches and updates: the second one needs no pictures.
        d_sum += session
                     .run({{"image", batch.at("image")}, {"noise", normal_numbers(kBatch, random)}},
                          {d_loss}, {.training = true, .update = {"discriminator"}})[0]
                     .item<float>();
        g_sum += session
                     .run({{"noise", normal_numbers(kBatch, random)}}, {g_loss},
                          {.training = true, .update = {"generator"}})[0]
                     .item<float>();
      }
      const auto steps = static_cast<double>(batches.size());
      const tr::Tensor generated = session.run({{"noise", fixed_noise}}, {fake})[0];
      std::cout << "epoch " << epoch + 1 << ": discriminator " << d_sum / steps << ", generator "
                << g_sum / steps
                << ", distance of the mean pictures: " << distance(mean_picture(generated), wanted)
                << '\n';
      tr::image::save_png("generated.png",
                          tr::image::contact_sheet(generated.rows(0, 64).reshaped({64, 1, 28, 28}),
                                                   std::vector<tr::image::Caption>(64)));
    }
    save_model(program, session, "gan", {.inputs = {noise}, .outputs = {fake}});
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
