#pragma once

// What train_case measures: networks with made-up data that the peers' programs make likewise.

#include <vector>

#include <trireme/trireme.h>

#include "../measuring.h"

namespace bench {

namespace tr = trireme;
namespace nn = trireme::nn;

using Shape = std::vector<std::int64_t>;

struct Case {
  tr::Program program;
  tr::Value loss = {};  // empty: only the update runs
  tr::Optimizer optimizer = {};
  std::vector<tr::Feeds> batches = {};
  std::vector<tr::Value> given =
      {};  // parameters whose gradients are fed; others' come from the loss
  std::vector<tr::Value> gradients = {};

  void add_updates() const {
    if (gradients.empty()) tr::minimize(loss, optimizer);
    else nn::apply_updates(optimizer, given, gradients);
  }
};

inline tr::Tensor labels(std::int64_t count, std::uint64_t seed, std::int64_t classes = 10) {
  return made_up<std::int64_t>({count}, seed,
                               [classes](float u) { return u * static_cast<float>(classes); });
}

// Without dropout where it is 0.
Case make_dense(const std::string& name,
                double dropout);  // without a program: there is no such case
Case make_sequences(const std::string& name);

bool is_statistic(const tr::Value& parameter);  // of batch normalisation

}  // namespace bench
