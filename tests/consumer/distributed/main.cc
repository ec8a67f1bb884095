// A stranger's program that many processes could train: alone it is a job of one.
#include <trireme/distributed.h>
#include <trireme/exported_table.h>
#include <trireme/trireme.h>

#include <iostream>
namespace tr = trireme;
namespace nn = trireme::nn;

static bool has_no_exports(const char* folder) {
  try {
    tr::ExportedTable table(folder);
    return false;
  } catch (const tr::Error& error) {
    return error.kind() == tr::ErrorKind::not_found;
  }
}

int main() {
  if (!has_no_exports("nothing")) return 1;
  tr::Program program("line");
  tr::Value x = program.input("x", tr::f32, {tr::batch, 1});
  tr::Value y = program.input("y", tr::f32, {tr::batch, 1});
  tr::Value loss = mean(nn::mse(nn::linear(x, {.units = 1}), y));
  tr::Member member = tr::Member::join();
  tr::Trainer trainer(
      program,
      member.distribute(program, {.loss = loss, .optimizer = tr::Sgd{.learning_rate = 0.1}}));
  const auto points =
      tr::data::from_tensors({{"x", tr::Tensor::from<float>({4, 1}, {0, 1, 2, 3})},
                              {"y", tr::Tensor::from<float>({4, 1}, {1, 3, 5, 7})}});
  member.train(trainer, points.batch(4), {.epochs = 60});
  if (!member.is_chief()) return 0;
  const double left = trainer.evaluate(points.batch(4))["loss"];
  std::cout << "loss " << left << " by " << member.trainers() << '\n';
  return left < 0.01 ? 0 : 1;
}
