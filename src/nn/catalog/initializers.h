#pragma once

// The initializers that a job file may name.

#include "nn/catalog/field.h"
#include "trireme/nn.h"

namespace trireme::nn {

inline Words<Initializer> initializer_words() {
  return {{"kaiming_normal", kaiming_normal()},
          {"kaiming_uniform", kaiming_uniform()},
          {"xavier_normal", xavier_normal()},
          {"xavier_uniform", xavier_uniform()},
          {"orthogonal", orthogonal()}};
}

}  // namespace trireme::nn
