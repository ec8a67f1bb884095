#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trireme/export.h"

namespace trireme {

// How values are stored between kernels. Arithmetic and sums are of f32 whatever is chosen: a value is
// rounded to 16 bits when it is written and made f32 again when it is read.
//
// Stored in 16 bits: what one generated kernel writes for another (activations and their gradients) of
// at least 32 elements for each example, and, where parameters are not trained, weights that generated
// kernels alone read. Stored in f32: parameters that are trained and optimizers' state, inputs, results,
// losses and other small values, sums over examples, and what OpenBLAS or oneDNN writes or reads at once.
//
// bf16 has the range of f32 and 8 bits of precision: for training and inference. f16 has 11 bits, and
// ends at 65504 and 6e-8, where gradients vanish: for inference.
enum class Precision : std::uint8_t { f32, bf16, f16 };

TRIREME_API std::string_view name_of(Precision precision);  // "bf16"
// Errors: usage, with the names there are.
TRIREME_API Precision parse_precision(const std::string& name);

}  // namespace trireme
