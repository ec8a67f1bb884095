// fit_case CASE THREADS: steps per second of Trainer::fit after one epoch; python_overhead.py runs
// the same from Python. `mlp`: 784 - 200 - 200 - 10, 64 images of Fashion-MNIST, Adam. `rnn`: a
// recurrent step of one's own, 32 sequences of 20 to 60 rows of 32 floats, width 64, Adam.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "trireme/trireme.h"

namespace tr = trireme;
namespace nn = trireme::nn;

namespace {

constexpr int kSequences = 3200;

double seconds_of(const auto& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void mlp(int threads) {
  tr::Program program("mlp");
  const tr::Value image = program.input("image", tr::f32, {tr::batch, 1, 28, 28});
  const tr::Value label = program.input("label", tr::i64, {tr::batch});
  tr::Value x = nn::linear(nn::flatten(image), {.units = 200, .activation = nn::relu});
  x = nn::linear(x, {.units = 200, .activation = nn::relu});
  const tr::Value loss = mean(nn::cross_entropy(nn::linear(x, {.units = 10}), label));
  tr::Trainer trainer(program, {.loss = loss,
                                .optimizer = tr::Adam{.learning_rate = 1e-3},
                                .session = {.threads = threads}});
  const auto train = tr::data::fashion_mnist("train").shuffle(7).batch(64);
  trainer.fit(train, {.epochs = 1, .progress = false});
  const double seconds = seconds_of([&] { trainer.fit(train, {.epochs = 2, .progress = false}); });
  std::printf("%.2f\n", 2 * 60000.0 / 64 / seconds);
}

void rnn(int threads) {
  tr::Program program("rnn");
  const tr::Value rows = program.input("rows", tr::f32, tr::ragged({tr::batch}, {32}));
  const tr::Value label = program.input("label", tr::i64, {tr::batch});
  const nn::RnnResult run = nn::run_rnn([&](nn::Step& step) {
    const tr::Value row = step.input(rows);
    const tr::Value h = step.state({.width = 64});
    const tr::Value now =
        nn::linear(tr::concat({row, h}, 1), {.units = 64, .activation = nn::tanh});
    step.update(h, now);
    step.output(now);
  });
  const tr::Value loss = mean(nn::cross_entropy(nn::linear(run.states[0], {.units = 2}), label));
  tr::Trainer trainer(program, {.loss = loss,
                                .optimizer = tr::Adam{.learning_rate = 1e-3},
                                .session = {.threads = threads}});
  // The Python program makes the same lengths.
  std::vector<tr::Tensor> batches, splits, labels;
  for (int first = 0; first < kSequences; first += 32) {
    std::vector<std::int64_t> ends = {0};
    for (int i = 0; i < 32; ++i) ends.push_back(ends.back() + 20 + (first + i) * 7 % 41);
    batches.push_back(tr::Tensor(tr::f32, {ends.back(), 32}));
    splits.push_back(tr::Tensor::from<std::int64_t>({33}, ends));
    labels.push_back(tr::Tensor(tr::i64, {32}));
  }
  const auto epoch = [&] {
    for (std::size_t i = 0; i < batches.size(); ++i) {
      trainer.step({{"rows", batches[i]}, {"rows.splits", splits[i]}, {"label", labels[i]}});
    }
  };
  epoch();
  const double seconds = seconds_of([&] { epoch(), epoch(), epoch(); });
  std::printf("%.2f\n", 3.0 * static_cast<double>(batches.size()) / seconds);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("usage: fit_case mlp|rnn THREADS\n", stderr);
    return 2;
  }
  const int threads = std::atoi(arguments[2]);
  if (std::string(arguments[1]) == "rnn") rnn(threads);
  else mlp(threads);
  return 0;
}
