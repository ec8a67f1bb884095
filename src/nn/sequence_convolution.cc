// Convolutions along sequences of different lengths.

#include <string>

#include "nn/sequences.h"
#include "nn/windows.h"
#include "trireme/convolution.h"
#include "trireme/ops.h"
#include "trireme/sequence.h"

namespace trireme::nn {
namespace {

void require_rows(Layer& layer, const Value& x) {
  layer.require(x.rank() == 2 && x.dim(1).is_constant() && is_arithmetic_float(x.dtype()),
                "x must be floats [rows, width] with a constant width",
                "flatten the other dimensions of a row; for ids, call embedding() first");
}

}  // namespace

Value sequence_conv(const Value& x, SequenceConvOptions options, SourceLocation where) {
  Layer layer(x, "sequence_conv", options.name, where);
  require_rows(layer, x);
  layer.require(options.units > 0 && options.kernel > 0, "units and kernel must be above 0",
                "{.units = 64, .kernel = 3}");
  const std::int64_t width = options.kernel * x.dim(1).constant();
  const Value weight = layer.parameter("weight", x.dtype(), {width, options.units},
                                       weight_init(options.weight_init, options.activation), true,
                                       options.weight_settings);
  const std::int64_t first = options.first.value_or(-((options.kernel - 1) / 2));
  const Value window_rows = sequence::windows(x, options.kernel, 0, first);
  Value y = matmul(reshape(window_rows, {.shape = {x.dim(0), width}}), weight);
  if (options.bias) {
    y = y + layer.parameter("bias", x.dtype(), {options.units}, options.bias_init, true,
                            options.bias_settings);
  }
  return options.activation ? options.activation(y, where) : y;
}

Value row_conv(const Value& x, RowConvOptions options, SourceLocation where) {
  Layer layer(x, "row_conv", options.name, where);
  require_rows(layer, x);
  layer.require(options.future >= 0, "future must not be negative", "{.future = 2}");
  const Initializer init = options.weight_init.value_or(xavier_uniform());
  const Value weight = layer.parameter("weight", x.dtype(), {options.future + 1, x.dim(1)}, init,
                                       true, options.weight_settings);
  return sum(sequence::windows(x, options.future + 1) * weight, {.axes = {1}});
}

}  // namespace trireme::nn
