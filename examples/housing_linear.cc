// Linear regression: the median house price of a district of California as a weighted sum of
// features.
//   housing_linear [--quick]

#include <cstring>
#include <iostream>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const int epochs = quick ? 5 : 60;
  try {
    const auto train = tr::data::california_housing("train").shuffle(1).batch(256);
    const auto test = tr::data::california_housing("test").batch(256);

    tr::Program program("housing_linear");
    tr::Value features = program.input("features", tr::f32, {tr::batch, 13});
    tr::Value target = program.input("target", tr::f32, {tr::batch, 1});
    tr::Value price = nn::linear(features, {.units = 1});
    tr::Value loss = mean(nn::mse(price, target));

    const auto rate = tr::Schedule::cosine(0.02, epochs * train.size());
    tr::Trainer trainer(program, {.loss = loss, .optimizer = tr::Adam{.learning_rate = rate}});
    trainer.fit(train, {.epochs = epochs});
    std::cout << "test mse: " << trainer.evaluate(test)["loss"] << '\n';
    trainer.save("housing_linear", {.outputs = {price}, .target = "target"});
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
