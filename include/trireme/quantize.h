#pragma once

// Post-training quantization of saved models: weights, and the inputs of products and convolutions,
// become bytes with a scale.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trireme/data.h"
#include "trireme/export.h"
#include "trireme/saved_model.h"

namespace trireme {

struct QuantizeOptions {
  // How the largest magnitude that a byte holds is chosen from the values that an input had in the
  // calibration. Larger values are clipped to it.
  enum class Range : std::uint8_t {
    min_max,     // the largest value
    percentile,  // of the values, `percentile` percent are not larger
    entropy,     // least Kullback-Leibler divergence between the histograms before and after;
                 // Migacz, "8-bit Inference with TensorRT" (GTC 2017)
    mse,         // least squared error
  };
  Range range = Range::mse;
  double percentile = 99.99;  // above 0, at most 100
  // Weights are bytes, and everything else stays f32. No calibration is needed.
  bool weights_only = false;
  // Adds to each result the mean error that the rounding of the weight makes for the mean input of
  // the calibration; Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias
  // Correction" (ICCV 2019).
  bool bias_correction = true;
  // Layers that stay f32, where * matches any characters: "linear_1", "encoder/*".
  std::vector<std::string> keep = {};
};

// A product, a convolution, a lookup or a loop with a weight, of the original Program.
struct QuantizedLayer {
  std::string layer;  // its path; empty outside of layers
  std::string op;
  std::int64_t weight_elements = 0;
  bool quantized = false;
  std::string reason = {};   // why it is not
  double input_maximum = 0;  // the largest value that a byte of the input stands for; 0: no bytes
  // Decibels: the squared result of the weight over the squared error of its rounding.
  double weight_signal_to_noise = 0;
};

struct QuantizedModel {
  Model model;
  std::vector<QuantizedLayer> layers;
  std::int64_t parameter_bytes_before = 0, parameter_bytes = 0;
};

// Returns the model with weights of i8 and a scale for each output channel (of a table: for each
// column), and with inputs of products and convolutions in u8 if they were never negative, else i8.
// Products of bytes are added in i32 without error; the result is multiplied by the scales in f32.
// Weights of loops, such as recurrences, are stored as i8, and the loops compute with f32.
//
// `calibration` has batches of typical inputs, without which the scales of inputs are not known. A
// hundred examples are usually enough; targets and other columns are ignored.
// Errors: usage, for wrong options, a model without such ops, or an empty calibration; data, if an
// input of a layer is NaN or infinite in the calibration, naming the layer; errors of
// Model::predict.
TRIREME_API QuantizedModel quantize(Model& model, const std::vector<Feeds>& calibration,
                                    const QuantizeOptions& options = {});

// The same, but layers stay f32 until score(model) - score(quantized model) is at most `max_drop`:
// first the layer whose quantization alone costs most. A score is better if it is larger, such as
// an accuracy. It is measured once for the model, once for each layer, and after each layer that is
// kept.
// Errors: as quantize(); usage, if a single layer costs more than the drop.
TRIREME_API QuantizedModel quantize_within(Model& model, const std::vector<Feeds>& calibration,
                                           double max_drop,
                                           const std::function<double(Model&)>& score,
                                           const QuantizeOptions& options = {});

// "mse", ...; Errors: usage with the list.
TRIREME_API QuantizeOptions::Range parse_range(const std::string& name);

}  // namespace trireme
