#pragma once

// The networks that train_case measures. The programs of the peers generate the same data.

#include <vector>

#include <trireme/trireme.h>

#include "../measuring.h"

namespace bench {

namespace tr = trireme;
namespace nn = trireme::nn;

using Shape = std::vector<std::int64_t>;

struct Case {
  tr::Program program;
  tr::Value loss = {};  // empty: a step runs the update only
  tr::Optimizer optimizer = {};
  std::vector<tr::Feeds> batches = {};
  std::vector<tr::Value> given = {};      // parameters with fed gradients
  std::vector<tr::Value> gradients = {};  // their gradients; empty: computed from the loss

  void add_updates() const {
    if (gradients.empty()) tr::minimize(loss, optimizer);
    else nn::apply_updates(optimizer, given, gradients);
  }
};

inline tr::Tensor labels(std::int64_t count, std::uint64_t seed, std::int64_t classes = 10) {
  return made_up<std::int64_t>({count}, seed,
                               [classes](float u) { return u * static_cast<float>(classes); });
}

// The case of that name; a case without batches if there is none.
Case make_dense(const std::string& name, double dropout);
Case make_sequences(const std::string& name);

bool is_statistic(const tr::Value& parameter);  // a running statistic of batch normalization

}  // namespace bench
