#pragma once

// The optimizers that a job file may name.

#include "nn/catalog/field.h"
#include "trireme/optimizer.h"

namespace trireme {

// The fields of all optimizers, of those that an optimizer has.
template <class Visit, class Options>
void optimizer_fields(Visit& visit, Options& o) {
  visit({"learning_rate", "learning rate; a schedule changes it", nn::kPositive},
        o.learning_rate.rate);
  if constexpr (requires { o.momentum; }) {
    visit({"momentum", "share of the last step that is kept"}, o.momentum);
  }
  if constexpr (requires { o.nesterov; }) {
    visit({"nesterov", "looks ahead by the momentum"}, o.nesterov);
  }
  if constexpr (requires { o.beta1; }) {
    visit({"beta1", "decay of the mean of gradients", nn::kFraction}, o.beta1);
  }
  if constexpr (requires { o.beta2; }) {
    visit({"beta2", "decay of the mean of squared gradients", nn::kFraction}, o.beta2);
  }
  if constexpr (requires { o.beta; }) {
    visit({"beta", "smoothing of the learning rate of each weight", nn::kNotNegative}, o.beta);
  }
  if constexpr (requires { o.decay; }) {
    visit({"decay", "decay of the mean of squared gradients", nn::kFraction}, o.decay);
  }
  if constexpr (requires { o.epsilon; }) {
    visit({"epsilon", "keeps quotients finite", nn::kNotNegative}, o.epsilon);
  }
  if constexpr (requires { o.amsgrad; }) {
    visit({"amsgrad", "divides by the largest mean of squared gradients so far"}, o.amsgrad);
  }
  if constexpr (requires { o.initial; }) {
    visit({"initial", "first value of the sums of squares", nn::kNotNegative}, o.initial);
  }
  if constexpr (requires { o.centered; }) {
    visit({"centered", "divides by the deviation instead of the root of squares"}, o.centered);
  }
  if constexpr (requires { o.l1; }) {
    visit({"l1", "penalty of the absolute value", nn::kNotNegative}, o.l1);
  }
  if constexpr (requires { o.l2; }) {
    visit({"l2", "penalty of the square", nn::kNotNegative}, o.l2);
  }
  if constexpr (requires { o.momentum_decay; }) {
    visit({"momentum_decay", "how fast the momentum rises to beta1", nn::kNotNegative},
          o.momentum_decay);
  }
  if constexpr (requires { o.decrease; }) {
    visit({"decrease", "factor of a step after the sign changed", {0, 1, true, true}}, o.decrease);
    visit({"increase", "factor of a step after the sign stayed", {.min = 1, .open_min = true}},
          o.increase);
    visit({"min_step", "smallest step", nn::kNotNegative}, o.min_step);
    visit({"max_step", "largest step", nn::kNotNegative}, o.max_step);
  }
  if constexpr (requires { o.trust; }) {
    visit({"trust", "share of the size of a parameter that a step changes", nn::kPositive},
          o.trust);
  }
  if constexpr (requires { o.decay_power; }) {
    visit({"decay_power", "how slowly older squares are forgotten", nn::kPositive}, o.decay_power);
  }
  if constexpr (requires { o.threshold; }) {
    visit({"threshold", "limit of the root mean square of a change", nn::kPositive}, o.threshold);
  }
  if constexpr (requires { o.adamw_factor; }) {
    visit({"iterations", "of Newton and Schulz's method in each step", {.min = 1}}, o.iterations);
    visit({"match_rms_adamw", "scales steps such that rates of AdamW fit"}, o.match_rms_adamw);
    visit({"adamw_parameters", "names of matrices that follow AdamW; * stands for any characters"},
          o.adamw_parameters);
    visit(
        {"adamw_factor", "of the learning rate of parameters that follow AdamW", nn::kNotNegative},
        o.adamw_factor);
  }
  if constexpr (requires { o.weight_decay; }) {
    visit({"weight_decay", "pulls weights towards 0", nn::kNotNegative}, o.weight_decay);
  }
}

// Calls visit(Entry, options) for every optimizer.
template <class Visit>
void for_each_optimizer(Visit&& visit) {
  visit({"sgd", "Stochastic gradient descent"}, Sgd{});
  visit({"momentum", "Gradient descent with momentum"}, Momentum{});
  visit({"adagrad", "Adagrad"}, Adagrad{});
  visit({"decayed_adagrad", "Adagrad with decay"}, DecayedAdagrad{});
  visit({"adadelta", "Adadelta"}, Adadelta{});
  visit({"rmsprop", "RMSProp"}, RmsProp{});
  visit({"adam", "Adam"}, Adam{});
  visit({"adamw", "Adam with decoupled weight decay"}, AdamW{});
  visit({"adamax", "Adam with the largest gradient"}, Adamax{});
  visit({"lamb", "Adam with a rate for each parameter, for large batches"}, Lamb{});
  visit({"lion", "Sign of the momentum"}, Lion{});
  visit({"nadam", "Adam with Nesterov's momentum"}, NAdam{});
  visit({"radam", "Adam with a correction of the first steps"}, RAdam{});
  visit({"rprop", "Sign of the gradient with a step for each element, for whole data sets"},
        Rprop{});
  visit({"lars", "Momentum with a rate for each parameter, for large batches"}, Lars{});
  visit({"adafactor", "Adam with little memory, for large matrices"}, Adafactor{});
  visit({"muon", "Momentum with singular values of about 1, for matrices"}, Muon{});
  visit({"schedule_free_sgd", "Gradient descent that averages instead of lowering its rate"},
        ScheduleFreeSgd{});
  visit({"schedule_free_adamw", "AdamW that averages instead of lowering its rate"},
        ScheduleFreeAdamW{});
  visit({"ftrl", "FTRL-Proximal, for sparse linear models"}, Ftrl{});
}

}  // namespace trireme
