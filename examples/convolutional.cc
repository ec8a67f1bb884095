// A small convolutional network on Fashion-MNIST, saved and used to predict.
//   convolutional [--quick]

#include <cstring>
#include <iostream>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const int epochs = quick ? 1 : 4;
  try {
    tr::Program program("convolutional");
    tr::Value image = program.input("image", tr::f32, {tr::batch, 1, 28, 28});
    tr::Value label = program.input("label", tr::i64, {tr::batch});

    tr::Value x = nn::conv2d(image, {.channels = 32, .kernel = 5, .activation = nn::relu});
    x = nn::max_pool(x, {.kernel = 2});
    x = nn::conv2d(x, {.channels = 64, .kernel = 3, .activation = nn::relu});
    x = nn::max_pool(x, {.kernel = 2});
    x = nn::linear(nn::flatten(x), {.units = 128, .activation = nn::relu});
    tr::Value logits = nn::linear(nn::dropout(x, {.rate = 0.3}), {.units = 10});
    tr::Value loss = mean(nn::cross_entropy(logits, label));

    const auto train =
        tr::data::fashion_mnist("train").shuffle(7).take(quick ? 3200 : 60000).batch(64);
    const auto test = tr::data::fashion_mnist("test").take(quick ? 1000 : 10000).batch(256);
    const auto rate = tr::Schedule::cosine(1.5e-3, epochs * train.size());
    tr::Trainer trainer(program, {.loss = loss,
                                  .optimizer = tr::Adam{.learning_rate = rate},
                                  .metrics = {tr::accuracy(logits, label)}});
    trainer.fit(train, {.epochs = epochs});
    std::cout << "test accuracy: " << trainer.evaluate(test)["accuracy"] << '\n';

    const std::vector<std::string> names = test.dataset().class_names();
    trainer.save("convolutional",
                 {.inputs = {image}, .outputs = {softmax(logits)}, .labels = names});
    tr::Model model = tr::load_model("convolutional");
    const tr::data::Batch first = test.dataset().rows(0, 1);
    std::cout << "the first test image: " << model.predict({{"image", first.at("image")}})[0].str()
              << '\n';
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
