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
  visit({"ftrl", "FTRL-Proximal, for sparse linear models"}, Ftrl{});
}

}  // namespace trireme
