// DeepFM on synthetic clicks, with its tables on parameter servers. An ordinary program, except for
// the Member: it makes the program one process of a job, or the only one.
//   clicks_by_processes [examples]
//   trireme launch --program ./clicks_by_processes --trainers 2 --servers 2 [-- examples]

#include <cstdlib>
#include <iostream>
#include <vector>

#include <trireme/distributed.h>
#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

int main(int argc, char** argv) {
  const std::int64_t examples = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  try {
    const auto clicks = tr::data::synthetic_clicks({.examples = examples, .ids = 1000});
    const auto others =
        tr::data::synthetic_clicks({.examples = 10'000, .first = 1'000'000'000, .ids = 1000});
    tr::Program program("clicks");
    tr::Value numbers = program.input("features", tr::f32, {tr::batch, 13});
    tr::Value clicked = program.input("target", tr::f32, {tr::batch, 1});
    std::vector<tr::models::IdField> fields;
    for (const tr::data::Column& column : clicks.columns()) {
      if (column.ids == 0) continue;
      fields.push_back({program.input(column.name, tr::i64, {tr::batch}), column.ids});
    }
    // Only a table with a sparse gradient can be stored on servers.
    tr::Value score =
        tr::models::deepfm(fields, numbers, {.hidden = {32}, .sparse_gradient = true});
    tr::Value loss = mean(nn::binary_cross_entropy_with_logits(score, clicked));

    tr::Distribution how{.mode = tr::Distribution::Mode::asynchronous, .task_batches = 8};
    tr::Member member = tr::Member::join({.distribution = how});
    const tr::TrainerOptions options = member.distribute(
        program, {.loss = loss,
                  .optimizer = tr::Adagrad{.learning_rate = 0.05, .initial = 1e-4},
                  .metrics = {tr::auc(score, clicked)}});
    tr::Trainer trainer(program, options);
    member.train(trainer, clicks.shuffle(1).batch(128));

    if (member.is_chief()) {  // true in one of the trainers
      std::cout << "test auc: " << trainer.evaluate(others.batch(1000))["auc"] << '\n';
      member.save(trainer, "clicks_by_processes",
                  {.outputs = {sigmoid(score)}, .target = "target"});
    }
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
