// Softmax regression on MNIST: one dense layer, the simplest classifier.
//   softmax_regression [--quick]

#include <cstring>
#include <iostream>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const int epochs = quick ? 1 : 5;
  try {
    tr::Program program("softmax_regression");
    tr::Value image = program.input("image", tr::f32, {tr::batch, 1, 28, 28});
    tr::Value label = program.input("label", tr::i64, {tr::batch});
    tr::Value logits = nn::linear(nn::flatten(image), {.units = 10});
    tr::Value loss = mean(nn::cross_entropy(logits, label));

    const auto train = tr::data::mnist("train").shuffle(1).take(quick ? 6400 : 60000).batch(64);
    const auto rate = tr::Schedule::cosine(4e-3, epochs * train.size());
    tr::Trainer trainer(program, {.loss = loss,
                                  .optimizer = tr::Adam{.learning_rate = rate},
                                  .metrics = {tr::accuracy(logits, label)}});
    trainer.fit(train, {.epochs = epochs});
    const tr::Metrics test = trainer.evaluate(tr::data::mnist("test").batch(256));
    std::cout << "test accuracy: " << test["accuracy"] << '\n';
    trainer.save("softmax_regression", {.inputs = {image}, .outputs = {softmax(logits)}});
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
