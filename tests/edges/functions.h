#pragma once

// Functions to try at special points: what an operand takes, how the function is built, and what
// PyTorch computes.

#include <functional>
#include <string>
#include <vector>

#include "trireme/program.h"
#include "trireme/session.h"
#include "trireme/tensor.h"

namespace trireme::edges {

// What one operand takes: numbers, or rows of one width. A function sees all combinations of the
// entries of its operands, one in each row of the batch.
struct Source {
  std::vector<std::vector<double>> entries;
  bool rows = false;  // the operand is [batch, width] instead of [batch]
  DType dtype = DType::f32;
};

using Build = std::function<std::vector<Value>(const std::vector<Value>& operands)>;
// Takes the operands of all combinations, and runs Sessions of its own with these options.
using Compute = std::function<std::vector<Tensor>(const std::vector<Tensor>& operands,
                                                  const SessionOptions& options)>;

struct Function {
  std::string name;   // "maximum"; several may share it, and are one row of the table
  std::string torch;  // expression of x[0], x[1] ...; the attributes are Python variables
  std::function<std::vector<Source>(DType)> sources;
  Build build = {};
  std::vector<DType> dtypes = {DType::f32, DType::f64, DType::bf16, DType::f16};
  Attributes attributes = {};
  bool differentiable = true;
  // Instead of `build`, for results of several runs: steps of an optimizer, or a metric. Axis 0 of
  // the results is that of the operands. The signs of zeros are not compared.
  Compute compute = {};
  bool as_f32 = true;  // PyTorch's results in f32 count as well, since steps may overflow there
  std::function<double(double)> host = {};  // the same function of one number, without a Program
};

// Special numbers of a dtype: zeros, ends of domains, kinks, tiny, subnormal, huge and infinite
// numbers, and NaN. `few` are for operands of which all pairs are tried.
std::vector<double> points_of(DType dtype);
std::vector<double> few_points_of(DType dtype);
// Rows of `width` numbers: equal elements, ties, one NaN or infinity at each end, tiny and huge
// elements, and large differences. No numbers for width 0.
std::vector<std::vector<double>> rows_of(DType dtype, std::size_t width);

Source numbers(DType dtype, const std::vector<double>& values);
Source points(DType dtype);
Source few_points(DType dtype);
Source rows(DType dtype, std::size_t width);

// The factors of results in a loss: 1, 1.5 and 2, in turns.
Tensor weights(DType dtype, const std::vector<std::int64_t>& shape);

// The elementwise ops of the catalog.
std::vector<Function> op_functions();
// Reductions, scans and sorting along the last axis, softmax, norms and normalization.
std::vector<Function> row_functions();
std::vector<Function> activation_functions();
std::vector<Function> loss_functions();
// Steps of each optimizer, with and without clipping, dense and row-sparse.
std::vector<Function> optimizer_functions();
// The learning rate in steps at and around the ends of schedules.
std::vector<Function> schedule_functions();
// Metrics of small data sets, one in each row.
std::vector<Function> metric_functions();
// Products, convolutions, pooling, and ops that move elements.
std::vector<Function> layer_functions();
// Pooling and convolutions of lines and volumes, unpooling, windows, einsum and rotary positions.
std::vector<Function> window_functions();
std::vector<Function> attention_functions();
// Discrete Fourier transforms of rows.
std::vector<Function> transform_functions();
// Linear algebra, and norms of weights.
std::vector<Function> matrix_functions();
// Gathers, scatters, embeddings and losses of sampled classes, along axis 0 of a table.
std::vector<Function> table_functions();
// Functions of sequences of different lengths, recurrent layers, and batch_norm.
std::vector<Function> sequence_functions();

}  // namespace trireme::edges
