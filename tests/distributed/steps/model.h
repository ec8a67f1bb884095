#pragma once

// What the processes of steps_test train, and the test itself beside them: DeepFM on clicks that
// are made up, with dropout left out, so that a step depends on parameters and batch alone.

#include <optional>
#include <string>
#include <vector>

#include "trireme/models.h"
#include "trireme/trireme.h"

namespace trireme::testing {

struct StepModel {
  static constexpr std::int64_t kIds = 60,
                                kBatch = 96;  // examples of a step of all members together
  static constexpr double kRate = 0.05;

  data::Dataset clicks = data::made_clicks({.examples = 1 << 20, .ids = kIds});
  Program program{"clicks"};
  Value numbers = program.input("features", f32, {batch, 13});
  Value clicked = program.input("target", f32, {batch, 1});
  Value loss;
  std::optional<Trainer> trainer;

  StepModel() {
    std::vector<models::IdField> fields;
    for (const data::Column& column : clicks.columns()) {
      if (column.ids == 0) continue;
      fields.push_back({program.input(column.name, i64, {batch}), column.ids});
    }
    const Value score = models::deepfm(fields, numbers, {.hidden = {16}, .sparse_gradient = true});
    loss = mean(nn::binary_cross_entropy_with_logits(score, clicked));
  }
  // AdaGrad that begins with nothing makes steps of any gradient, however small, even of one that
  // is rounding alone.
  TrainerOptions options() const {
    return {
        .loss = loss, .optimizer = Adagrad{.learning_rate = kRate, .initial = 0.01}, .threads = 1};
  }
  // Of a step, the examples of one of so many members; parts are not all equal.
  data::Batch batch_of(std::int64_t step, std::int64_t member, std::int64_t members) const {
    const auto cut = [&](std::int64_t i) {
      return kBatch * step + kBatch * i / members + (i < members ? i % 2 : 0);
    };
    return clicks.rows(cut(member), cut(member + 1));
  }
  std::vector<float> parameter(const std::string& name) {
    return trainer->session().parameter(name).cast(f32).to_vector<float>();
  }
};

}  // namespace trireme::testing
