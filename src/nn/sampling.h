#pragma once

// Drawing classes for the losses of very many classes.

#include <cstdint>

#include "nn/layer.h"
#include "trireme/loss.h"

namespace trireme::nn {

// i64[samples], classes in [0, classes), others in every run; `layer` names the random numbers.
Value draw_classes(Layer& layer, Sampler sampler, std::int64_t samples, std::int64_t classes);

// How likely each of the classes `ids` is drawn, as f64 logarithms.
Value log_probability(const Value& ids, Sampler sampler, std::int64_t classes);

}  // namespace trireme::nn
