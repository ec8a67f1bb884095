// A recommender on MovieLens: every user and every film has a vector, and their product predicts
// the rating. Measures the root mean squared error on held-out ratings.
//   movielens_two_tower [--quick]

#include <cmath>
#include <cstring>
#include <iostream>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const int epochs = quick ? 1 : 12;
  try {
    const tr::data::Dataset ratings = tr::data::movielens("train");
    tr::Program program("movielens");
    tr::Value user = program.input("user", tr::i64, {tr::batch});
    tr::Value item = program.input("item", tr::i64, {tr::batch});
    tr::Value rating = program.input("rating", tr::f32, {tr::batch, 1});
    tr::Value predicted = tr::models::two_tower({user, ratings.column("user").ids},
                                                {item, ratings.column("item").ids},
                                                {.width = 32, .dropout = 0.3, .mean = 3.5});
    tr::Value loss = mean(nn::mse(predicted, rating));

    const auto train = ratings.shuffle(1).batch(512);
    const auto rate = tr::Schedule::cosine(4e-3, epochs * train.size());
    const tr::AdamW optimizer{.learning_rate = rate, .weight_decay = 0.1};
    tr::Trainer trainer(program, {.loss = loss, .optimizer = optimizer});
    trainer.fit(train, {.epochs = epochs});

    const tr::Metrics test = trainer.evaluate(tr::data::movielens("test").batch(1024));
    std::cout << "test rmse: " << std::sqrt(test["loss"]) << '\n';
    trainer.save("movielens_two_tower", {.inputs = {user, item}, .outputs = {predicted}});
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
