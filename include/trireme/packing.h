#pragma once

// Small models from trained ones: weights packed into words of 32 bits, tables of codes, and
// products of low rank.

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/session.h"
#include "trireme/source_location.h"

namespace trireme {

struct PackOptions {
  int max_bits = 5;  // of one weight, 1 to 8; weights that need more stay as they are
  // Linear layers with binary weights whose input is binarized, nn::binarize(), count bits that
  // differ: Rastegari et al. 2016, "XNOR-Net". False: their weights are packed like others.
  bool count_bits = true;
};

struct PackedWeight {
  std::string name;  // of the parameter from which the weight is computed
  int bits = 0;      // of one weight
  bool counts_bits = false;
  std::int64_t bytes_before = 0, bytes_after = 0;
};

// A Program for inference, and a Session with its parameters.
struct PackedModel {
  Program program;
  Session session;
  std::vector<PackedWeight> weights = {};
  std::int64_t bytes = 0;  // of all parameters
};

// Returns a Program that computes `outputs` in inference, with packed weights. Its inputs have the
// same names, and program.outputs() are its outputs; save_model() saves it.
//
// A weight is what is computed from parameters alone, f32 with rank 2 or more and at
// least 32 elements. Each unit is
// divided by its largest absolute value. If the results have at most 2^max_bits different values,
// the weight becomes three parameters: "NAME.packed" u32 [units, words] with a code of each
// element, "NAME.table" f32 [2^bits] with the numbers of the codes, and "NAME.scales" f32 [units].
// This finds binary, ternary and power-of-two weights, clustered ones and zeros of pruning, however
// they were made. The units are the last axis of the second operand of matmul() and the first one
// of the weight of a convolution; or a weight has one scale, if that is smaller. The numbers
// of the weights are the same, bit for bit. Where bits are counted, sums of 1 and -1 are exact, and
// are multiplied by the scale at the end. The order of the elements of `weights` is that of
// their first use. `program` and `session` do not change.
//
// Other weights that are computed, such as those with masks or nn::weight_norm(), become one
// parameter each, "NAME.folded", so that the model is no larger than without the computation.
// Errors: usage, for no outputs, outputs of another Program and max_bits out of range.
TRIREME_API PackedModel pack_weights(const Program& program, Session& session,
                                     const std::vector<Value>& outputs,
                                     const PackOptions& options = {});

struct ProductQuantizationOptions {
  // Names of tables, where * matches any characters: those of these that gather() reads by rows,
  // such as the weights of nn::embedding().
  std::vector<std::string> tables = {"*"};
  std::int64_t parts = 0;        // required: codes of a row; must divide its length
  std::int64_t centroids = 256;  // for each part, 2 to 256
  int iterations = 25;           // of k-means; stops earlier if no code changes
  std::uint64_t seed = 1;
};
// Returns a Program as pack_weights() does, in which each row of a table is `parts` codes: Jegou et
// al. 2011, "Product Quantization for Nearest Neighbor Search". Each part of the rows has centroids
// of its own, found by k-means that begins with random different rows. The parameters are
// "NAME.codes" u8 [rows, parts] and "NAME.centroids" f32 [parts * centroids, dim / parts]. With at
// most as many different rows as centroids, results do not change.
// Errors: not_found, if a pattern matches no table; usage, as pack_weights(), for options out of
// range, and for a table whose rows `parts` does not divide.
TRIREME_API PackedModel product_quantize(const Program& program, Session& session,
                                         const std::vector<Value>& outputs,
                                         const ProductQuantizationOptions& options);

struct FactorizeOptions {
  std::vector<std::string> parameters = {"*"};  // names, where * matches any characters
  // Share of the squared singular values that remains, in (0, 1]. Weights that would not become
  // smaller stay as they are.
  double energy = 0.95;
};
struct FactorizedWeight {
  std::string name;
  std::int64_t rank = 0, full_rank = 0;
};
struct FactorizedModel {
  Program program;
  Session session;
  std::vector<FactorizedWeight> weights = {};  // those that became smaller
  std::int64_t parameters = 0;                 // numbers in all parameters
};
// Returns a Program that computes `outputs`, in training and in inference, in which weights of
// matmul() and of conv2d() without groups are products of two smaller ones, by their singular value
// decomposition: "NAME.in" and "NAME.out". A convolution becomes one to `rank` channels and one of
// 1 x 1: Zhang et al. 2016, "Accelerating Very Deep Convolutional Networks". It has no updates, so
// minimize() or a Trainer can tune it; program.outputs() are its outputs.
// Errors: usage, for no outputs, outputs of another Program, and an energy out of range.
TRIREME_API FactorizedModel factorize(const Program& program, Session& session,
                                      const std::vector<Value>& outputs,
                                      const FactorizeOptions& options = {});

}  // namespace trireme
