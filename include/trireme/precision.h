#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trireme/export.h"

namespace trireme {

// How values are stored between kernels. Arithmetic and sums always use f32: a value is rounded to
// 16 bits when it is written and converted to f32 when it is read.
//
// Stored in 16 bits: values of at least 32 elements per example that one generated kernel writes
// for another (activations and their gradients). Also, if parameters are not trained, weights that
// only generated kernels read.
//
// Stored in f32: trained parameters and optimizer state, inputs, results, losses and other small
// values, sums over examples, and all values that OpenBLAS or oneDNN read or write directly.
//
// bf16 has the range of f32 and 8 bits of precision. It suits training and inference. f16 has 11
// bits of precision and a range from 6e-8 to 65504, where gradients underflow. It suits inference.
enum class Precision : std::uint8_t { f32, bf16, f16 };

TRIREME_API std::string_view name_of(Precision precision);  // "bf16"
// Errors: usage, listing the valid names.
TRIREME_API Precision parse_precision(const std::string& name);

}  // namespace trireme
