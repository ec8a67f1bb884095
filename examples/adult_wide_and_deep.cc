// Wide and deep (Cheng et al. 2016) on Adult: does a person earn more than 50,000 dollars a year?
// Measures the area under the ROC curve on the test file.
//   adult_wide_and_deep [--quick]

#include <algorithm>
#include <cstring>
#include <iostream>
#include <utility>
#include <vector>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

// The probability that a positive example scores above a negative one; ties count half. Computed
// from the sum of the positives' ranks (Mann and Whitney 1947).
double area_under_roc(const std::vector<float>& scores, const std::vector<float>& targets) {
  std::vector<std::pair<float, float>> pairs;
  for (std::size_t i = 0; i < scores.size(); ++i) pairs.emplace_back(scores[i], targets[i]);
  std::sort(pairs.begin(), pairs.end());
  double ranks = 0, positives = 0;
  for (std::size_t begin = 0, end = 0; begin < pairs.size(); begin = end) {
    while (end < pairs.size() && pairs[end].first == pairs[begin].first) ++end;
    const double rank = static_cast<double>(begin + end + 1) / 2;  // the mean rank of the ties
    for (std::size_t i = begin; i < end; ++i) {
      if (pairs[i].second < 0.5f) continue;
      ranks += rank;
      ++positives;
    }
  }
  const double negatives = static_cast<double>(pairs.size()) - positives;
  return (ranks - positives * (positives + 1) / 2) / (positives * negatives);
}

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const int epochs = quick ? 1 : 12;
  try {
    const tr::data::Dataset rows = tr::data::adult("train");
    tr::Program program("adult");
    tr::Value numbers = program.input("features", tr::f32, {tr::batch, 6});
    tr::Value target = program.input("target", tr::f32, {tr::batch, 1});
    std::vector<tr::Value> inputs = {numbers};
    std::vector<tr::models::IdField> fields;
    for (const tr::data::Column& column : rows.columns()) {
      if (column.ids == 0) continue;
      inputs.push_back(program.input(column.name, tr::i64, {tr::batch}));
      fields.push_back({inputs.back(), column.ids});
    }
    // Two crosses: education with occupation, and marital_status with occupation.
    tr::Value logits = tr::models::wide_and_deep(
        fields, numbers, {.hidden = {64, 32}, .crosses = {{1, 3}, {2, 3}}, .dropout = 0.2});
    tr::Value loss = mean(nn::binary_cross_entropy_with_logits(logits, target));

    const auto train = rows.shuffle(1).batch(256);
    const auto rate = tr::Schedule::cosine(2e-3, epochs * train.size());
    const tr::AdamW optimizer{.learning_rate = rate, .weight_decay = 0.02};
    tr::Trainer trainer(program, {.loss = loss, .optimizer = optimizer});
    trainer.fit(train, {.epochs = epochs});

    const auto test = tr::data::adult("test").batch(1024);
    const std::vector<float> scores = trainer.predict(test, logits).to_vector<float>();
    const std::vector<float> truth = test.dataset().all().at("target").to_vector<float>();
    std::cout << "test auc: " << area_under_roc(scores, truth) << '\n';
    trainer.save("adult_wide_and_deep", {.inputs = inputs, .outputs = {sigmoid(logits)}});
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
