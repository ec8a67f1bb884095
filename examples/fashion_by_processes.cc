// Fashion-MNIST with all-reduce: every process has the whole network, and gradients are summed. A
// step of two processes equals a step of one process with batches twice as large.
//   fashion_by_processes [epochs]
//   trireme launch --program ./fashion_by_processes --trainers 2 [-- epochs]

#include <cstdlib>
#include <iostream>

#include <trireme/distributed.h>
#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

int main(int argc, char** argv) {
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 5;
  try {
    tr::Program program("fashion");
    tr::Value image = program.input("image", tr::f32, {tr::batch, 1, 28, 28});
    tr::Value label = program.input("label", tr::i64, {tr::batch});
    tr::Value x = nn::linear(nn::flatten(image), {.units = 200, .activation = nn::relu});
    tr::Value logits = nn::linear(nn::dropout(x, {.rate = 0.2}), {.units = 10});
    tr::Value loss = mean(nn::cross_entropy(logits, label));

    tr::Member member = tr::Member::join();  // mode all_reduce by default
    const auto train = tr::data::fashion_mnist("train").shuffle(7).batch(64);
    const std::int64_t steps = epochs * train.size() / member.trainers();  // of each process
    const tr::TrainerOptions options = member.distribute(
        program, {.loss = loss,
                  .optimizer = tr::Adam{.learning_rate = tr::Schedule::cosine(2e-3, steps)},
                  .metrics = {tr::accuracy(logits, label)}});
    tr::Trainer trainer(program, options);
    member.train(trainer, train, {.epochs = epochs});

    if (member.is_chief()) {  // true in one of the trainers
      const auto test = tr::data::fashion_mnist("test").batch(256);
      std::cout << "test accuracy: " << trainer.evaluate(test)["accuracy"] << '\n';
      member.save(trainer, "fashion_by_processes",
                  {.inputs = {image}, .outputs = {softmax(logits)}, .target = "label"});
    }
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
