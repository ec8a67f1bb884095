#pragma once

// What the processes of steps_test train, and the test itself: DeepFM on synthetic clicks without
// dropout, so that a step depends only on parameters and batch.

#include <optional>
#include <string>
#include <vector>

#include "trireme/models.h"
#include "trireme/trireme.h"

namespace trireme::testing {

struct StepModel {
  static constexpr std::int64_t kIds = 60,
                                kBatch = 96;  // examples of a step of all members
  static constexpr double kRate = 0.05;

  data::Dataset clicks = data::synthetic_clicks({.examples = 1 << 20, .ids = kIds});
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
  // AdaGrad without an initial value makes steps of any gradient, even of one that is only
  // rounding.
  TrainerOptions options() const {
    return {.loss = loss,
            .optimizer = Adagrad{.learning_rate = kRate, .initial = 0.01},
            .session = {.threads = 1}};
  }
  // The examples of one of `members` members in a step; shares differ.
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
