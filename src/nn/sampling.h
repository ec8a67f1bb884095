#pragma once

// Sampling of classes for the losses of very many classes.

#include <cstdint>

#include "nn/layer.h"
#include "trireme/loss.h"

namespace trireme::nn {

// Returns i64[samples] of classes in [0, classes), different in every run. `layer` determines the
// random stream.
Value draw_classes(Layer& layer, Sampler sampler, std::int64_t samples, std::int64_t classes);

// Returns the f64 logarithms of the probabilities of drawing the classes `ids`.
Value log_probability(const Value& ids, Sampler sampler, std::int64_t classes);

}  // namespace trireme::nn
