#include "trireme/pruning.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "session/compress/masks.h"
#include "session/run/parameters.h"
#include "session/run/state_names.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using compression::masked_weights;
using compression::MaskedWeight;

// The size of weights that may not return: smaller than all others.
constexpr float kGone = -INFINITY;

// The masks of some layers, which are ranked together.
class Ranking {
 public:
  Ranking(ParameterStore& store, const MaskRule& rule) : store_(store), rule_(rule) {}

  void add(const MaskedWeight& weight) {
    Layer layer{weight.mask, store_.get(*weight.mask).clone(), {}, weight.score != nullptr};
    const Tensor from = store_.get(weight.score != nullptr ? *weight.score : *weight.weight);
    const float* values = from.data<float>();
    const float* mask = layer.mask.data<float>();
    for (std::int64_t i = 0; i < from.elements(); ++i) {
      const bool is_pruned = mask[i] == 0 && !rule_.splice && !layer.scored;
      layer.sizes.push_back(is_pruned ? kGone : size_of_number(values[i], layer.scored));
    }
    layers_.push_back(std::move(layer));
  }

  void prune() {
    std::vector<float> all;
    for (const Layer& layer : layers_)
      all.insert(all.end(), layer.sizes.begin(), layer.sizes.end());
    // The product of a share such as 0.1 with a number may be a little too small.
    const double share = rule_.sparsity * static_cast<double>(all.size());
    const auto left = static_cast<std::int64_t>(std::floor(share + 1e-9));
    const bool is_exact = !rule_.splice || rule_.margin == 0;
    if (all.empty()) return;
    if (left == 0 && is_exact) return set([](const Layer&, std::size_t) { return true; });
    const auto limit_place = all.begin() + std::min<std::int64_t>(left, std::ssize(all) - 1);
    std::nth_element(all.begin(), limit_place, all.end());
    const float limit = *limit_place;
    if (!is_exact) return prune_beyond(limit);
    // Of those as large as the limit, the first are pruned.
    std::int64_t below = 0;
    for (const Layer& layer : layers_) {
      below += std::count_if(layer.sizes.begin(), layer.sizes.end(),
                             [&](float size) { return size < limit; });
    }
    std::int64_t ties = left - below;
    set([&](const Layer& layer, std::size_t i) {
      const float size = layer.sizes[i];
      return size > limit || (size == limit && ties-- <= 0);
    });
  }

  // Of `of` weights along the inputs, keeps the `keep` largest.
  void prune_groups() {
    for (Layer& layer : layers_) {
      const int axis = layer.mask.rank() > 2 ? 1 : 0;
      const std::int64_t size = layer.mask.rank() == 0 ? 1 : layer.mask.dim(axis);
      if (size % rule_.of != 0) {
        fail_usage(
            fmt::format("update_masks: axis {} of \"{}\" has the size {}, which {} does not "
                        "divide\n  hint   leave this weight out in add_masks()",
                        axis, layer.parameter->name(), size, rule_.of));
      }
      std::int64_t inner = 1;
      for (int i = axis + 1; i < layer.mask.rank(); ++i) inner *= layer.mask.dim(i);
      prune_groups(layer, inner);
    }
  }

  void store() {
    for (const Layer& layer : layers_) store_.set(*layer.parameter, layer.mask);
  }

 private:
  struct Layer {
    const ir::Parameter* parameter;
    Tensor mask;
    std::vector<float> sizes;
    bool scored;
  };

  // NaN counts as the largest, so that training reports it.
  static float size_of_number(float x, bool scored) {
    if (std::isnan(x)) return INFINITY;
    return scored ? x : std::fabs(x);
  }

  template <class Keep>
  void set(Keep keep) {
    for (Layer& layer : layers_) {
      for (std::size_t i = 0; i < layer.sizes.size(); ++i) {
        const bool kept = layer.sizes[i] != kGone && keep(layer, i);
        layer.mask.data<float>()[i] = kept ? 1.0f : 0.0f;
      }
    }
  }

  void prune_beyond(float limit) {
    const auto low = static_cast<float>(limit * (1 - rule_.margin));
    const auto high = static_cast<float>(limit * (1 + rule_.margin));
    set([&](const Layer& layer, std::size_t i) {
      const float size = layer.sizes[i];
      return layer.mask.data<float>()[i] != 0 ? size >= low : size > high;
    });
  }

  void prune_groups(Layer& layer, std::int64_t inner) {
    std::vector<std::pair<float, std::int64_t>> group(static_cast<std::size_t>(rule_.of));
    const std::int64_t elements = std::ssize(layer.sizes);
    for (std::int64_t begin = 0; begin < elements; begin += rule_.of * inner) {
      for (std::int64_t column = begin; column < begin + inner; ++column) {
        for (std::int64_t k = 0; k < rule_.of; ++k) {
          const std::int64_t at = column + k * inner;
          // Of equal weights the last stay.
          group[static_cast<std::size_t>(k)] = {layer.sizes[static_cast<std::size_t>(at)], at};
        }
        std::sort(group.begin(), group.end());
        for (std::int64_t k = 0; k < rule_.of; ++k) {
          const auto& [size, at] = group[static_cast<std::size_t>(k)];
          const bool kept = k >= rule_.of - rule_.keep && size != kGone;
          layer.mask.data<float>()[at] = kept ? 1.0f : 0.0f;
        }
      }
    }
  }

  ParameterStore& store_;
  const MaskRule& rule_;
  std::vector<Layer> layers_;
};

void check(const char* what, double sparsity, std::int64_t keep, std::int64_t of, double margin) {
  if (!(sparsity >= 0 && sparsity < 1)) {
    fail_usage(fmt::format("{}: sparsity is {}; it is in [0, 1)", what, sparsity));
  }
  if (!(margin >= 0 && margin < 1)) {
    fail_usage(fmt::format("{}: margin is {}; it is in [0, 1)", what, margin));
  }
  if (of < 0 || keep < 0 || (of == 0 && keep != 0) || (of > 0 && (keep < 1 || keep >= of))) {
    fail_usage(
        fmt::format("{}: keep is {} and of is {}\n  hint   .keep = 2, .of = 4 keeps 2 of 4 "
                    "weights",
                    what, keep, of));
  }
}

bool is_network_state(const ir::Program& program, const ir::Parameter& parameter) {
  const std::string& name = parameter.name();
  return !name.ends_with(compression::kMask) ||
         program.find_parameter(name.substr(0, name.size() - 5)) == nullptr;
}

}  // namespace

void update_masks(Session& session, const MaskRule& rule) {
  check("update_masks", rule.sparsity, rule.keep, rule.of, rule.margin);
  const auto weights = masked_weights("update_masks", SessionAccess::program(session));
  ParameterStore& store = SessionAccess::parameters(session);
  std::vector<Ranking> rankings;
  for (const MaskedWeight& weight : weights) {
    if (rankings.empty() || !rule.global) rankings.emplace_back(store, rule);
    rankings.back().add(weight);
  }
  for (Ranking& ranking : rankings) {
    if (rule.of > 0) ranking.prune_groups();
    else ranking.prune();
  }
  for (Ranking& ranking : rankings) ranking.store();
}

double mask_sparsity(Session& session) {
  std::int64_t zeros = 0, all = 0;
  for (const auto& weight : masked_weights("mask_sparsity", SessionAccess::program(session))) {
    const Tensor& mask = SessionAccess::parameters(session).get(*weight.mask);
    const auto* numbers = mask.data<float>();
    zeros += std::count(numbers, numbers + mask.elements(), 0.0f);
    all += mask.elements();
  }
  return all == 0 ? 0 : static_cast<double>(zeros) / static_cast<double>(all);
}

void apply_masks(Session& session) {
  ParameterStore& store = SessionAccess::parameters(session);
  for (const auto& each : masked_weights("apply_masks", SessionAccess::program(session))) {
    Tensor weight = store.get(*each.weight).clone();
    const Tensor& mask = store.get(*each.mask);
    for (std::int64_t i = 0; i < weight.elements(); ++i) {
      if (mask.data<float>()[i] == 0) weight.data<float>()[i] = 0;
    }
    store.set(*each.weight, weight);
  }
}

double scheduled_sparsity(const PruningOptions& options, std::int64_t step) {
  if (step < options.begin) return 0;
  if (step >= options.end) return options.sparsity;
  const double t =
      static_cast<double>(step - options.begin) / static_cast<double>(options.end - options.begin);
  return options.sparsity + (options.initial_sparsity - options.sparsity) * std::pow(1 - t, 3);
}

Pruning::Pruning(PruningOptions options) : options_(options) {
  check("Pruning", options.sparsity, options.keep, options.of, options.margin);
  check("Pruning: initial_sparsity", options.initial_sparsity, 0, 0, 0);
  if (options.begin < 0 || options.end < options.begin || options.every < 1) {
    fail_usage(
        fmt::format("Pruning: begin {}, end {}, every {}: end is not before begin, begin "
                    "not negative, and every at least 1",
                    options.begin, options.end, options.every));
  }
}

void Pruning::on_fit_begin(FitState& fit) {
  masked_weights("Pruning", SessionAccess::program(fit.trainer().session()));
  if (fit.trainer().steps() == 0 && options_.begin == 0) update(fit, 0);
}

void Pruning::on_step(FitState& fit, double) {
  const std::int64_t step = fit.trainer().steps();
  if (step < options_.begin || step > options_.end) return;
  if ((step - options_.begin) % options_.every == 0 || step == options_.end) update(fit, step);
}

void Pruning::update(FitState& fit, std::int64_t step) {
  update_masks(fit.trainer().session(), {.sparsity = scheduled_sparsity(options_, step),
                                         .global = options_.global,
                                         .keep = options_.keep,
                                         .of = options_.of,
                                         .splice = options_.splice,
                                         .margin = step == options_.end ? 0 : options_.margin});
}

void Rewinding::on_fit_begin(FitState& fit) {
  if (fit.trainer().steps() == step_) remember(fit);
}

void Rewinding::on_step(FitState& fit, double) {
  if (fit.trainer().steps() == step_) remember(fit);
}

void Rewinding::remember(FitState& fit) {
  if (values_.empty()) values_ = state_dict(fit.trainer().session());
}

void Rewinding::rewind(Session& session) const {
  if (values_.empty()) {
    fail_usage(
        fmt::format("Rewinding: no fit has reached step {}\n  hint   add it to the "
                    "callbacks of fit()",
                    step_));
  }
  const ir::Program& program = SessionAccess::program(session);
  ParameterStore& store = SessionAccess::parameters(session);
  for (const auto& [name, value] : values_) {
    const ir::Parameter* parameter = program.find_parameter(name);
    if (parameter != nullptr && is_network_state(program, *parameter)) store.set(*parameter, value);
  }
}

}  // namespace trireme
