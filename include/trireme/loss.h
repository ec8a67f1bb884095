#pragma once

// Losses of each example, which mean() averages: mean(nn::cross_entropy(logits, label)). Some have
// the option `reduction` instead.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/tensor.h"

namespace trireme::nn {

// What a loss returns.
enum class Reduction : std::uint8_t {
  none,  // a loss for each example
  mean,  // their mean, a scalar; with weights their weighted mean, 0 if all weights are 0
  sum,   // their weighted sum, a scalar
};

struct CrossEntropyOptions {
  double label_smoothing = 0;  // fraction of the target spread evenly over all classes; in [0, 1)
  // Examples with this label have loss 0, weight 0 and no gradient: padding, for example.
  std::optional<std::int64_t> ignore_index = {};
  // The weight of each class, at least 0: an example has the weight of its label. With label
  // smoothing, the share of a class has the weight of that class. Empty: 1.
  std::vector<double> class_weights = {};
  Reduction reduction = Reduction::none;
};
// -log softmax(logits)[label], times the weight of the label, for logits [..., classes] and integer
// labels [...].
// Errors: data at run time, for a label outside [0, classes) that is not ignore_index; usage, for
// invalid options.
TRIREME_API Value cross_entropy(const Value& logits, const Value& label,
                                const CrossEntropyOptions& options = {},
                                SourceLocation where = SourceLocation::current());

struct NllOptions {
  std::optional<std::int64_t> ignore_index = {};  // as in CrossEntropyOptions
  std::vector<double> class_weights = {};         // as in CrossEntropyOptions
  Reduction reduction = Reduction::none;
};
// The negative log likelihood -log_probability[label], times the weight of the label, for floats
// [..., classes], such as the result of log_softmax(), and integer labels [...].
// Errors: as cross_entropy.
TRIREME_API Value nll(const Value& log_probability, const Value& label,
                      const NllOptions& options = {},
                      SourceLocation where = SourceLocation::current());

struct BinaryCrossEntropyOptions {
  double pos_weight = 1;  // weight of targets 1, at least 0; above 1 if they are rare
  // The weight of targets 1 for each class, the last axis, times pos_weight. Empty: 1.
  std::vector<double> pos_weights = {};
  Reduction reduction = Reduction::none;  // the mean divides by the number of elements
};
// Elementwise, for targets in [0, 1]. Numerically stable for large logits.
// Errors: usage, for operands of different types and for weights that are negative or not finite.
TRIREME_API Value binary_cross_entropy_with_logits(
    const Value& logits, const Value& target, BinaryCrossEntropyOptions options = {},
    SourceLocation where = SourceLocation::current());

// Elementwise (x - target)^2 and |x - target|.
TRIREME_API Value mse(const Value& x, const Value& target,
                      SourceLocation where = SourceLocation::current());
TRIREME_API Value l1(const Value& x, const Value& target,
                     SourceLocation where = SourceLocation::current());

struct HuberOptions {
  double delta = 1;
};
// d^2 / 2 where |d| <= delta, else delta * (|d| - delta / 2), with d = x - target.
TRIREME_API Value huber(const Value& x, const Value& target, HuberOptions options = {},
                        SourceLocation where = SourceLocation::current());

struct SmoothL1Options {
  double beta = 1;  // above 0
};
// d^2 / (2 beta) where |d| < beta, else |d| - beta / 2: Girshick 2015.
TRIREME_API Value smooth_l1(const Value& x, const Value& target, SmoothL1Options options = {},
                            SourceLocation where = SourceLocation::current());

// --- Binary classification ----------------------------------------------------------------------
// Elementwise, for targets 0 and 1.

struct HingeOptions {
  double margin = 1;
};
// max(0, margin - y x) with y = 2 target - 1, and the square of that.
TRIREME_API Value hinge(const Value& x, const Value& target, HingeOptions options = {},
                        SourceLocation where = SourceLocation::current());
TRIREME_API Value squared_hinge(const Value& x, const Value& target, HingeOptions options = {},
                                SourceLocation where = SourceLocation::current());

struct FocalOptions {
  double gamma = 2;     // 0 or more; how strongly examples that are already correct count less
  double alpha = 0.25;  // weight of targets 1, in [0, 1]; targets 0 have weight 1 - alpha
};
// -alpha_t (1 - p_t)^gamma log p_t of logits, where p_t is the probability of the target: Lin et
// al. 2017.
TRIREME_API Value focal(const Value& x, const Value& target, FocalOptions options = {},
                        SourceLocation where = SourceLocation::current());

struct DiceOptions {
  double smooth = 1;  // 0 or more; keeps the quotient defined if both are empty
};
// 1 - (2 sum(p t) + smooth) / (sum(p) + sum(t) + smooth), summed over all axes except the first,
// for probabilities p (not logits) and targets t of the same shape: [batch]. Milletari et al. 2016.
TRIREME_API Value dice(const Value& probability, const Value& target, DiceOptions options = {},
                       SourceLocation where = SourceLocation::current());

// --- Classes ----------------------------------------------------------------------------------
// Logits [..., classes] and labels [...] as for cross_entropy.

struct MultiClassHingeOptions {
  double margin = 1;
  bool squared = false;
};
// The sum over the other classes of max(0, margin - x[label] + x[class]), or of its square, divided
// by the number of classes: Weston and Watkins 1999.
TRIREME_API Value multi_class_hinge(const Value& logits, const Value& label,
                                    MultiClassHingeOptions options = {},
                                    SourceLocation where = SourceLocation::current());

struct FocalCrossEntropyOptions {
  double gamma = 2;  // 0 or more; 0 is cross_entropy
};
// -(1 - p)^gamma log p, with p = softmax(logits)[label].
TRIREME_API Value focal_cross_entropy(const Value& logits, const Value& label,
                                      FocalCrossEntropyOptions options = {},
                                      SourceLocation where = SourceLocation::current());

// Several classes of one example: x and target are floats [..., classes] of one type. The targets
// are 1 for the classes of the example and 0 for others.

struct MultiLabelMarginOptions {
  double margin = 1;
};
// The sum of max(0, margin - x[i] + x[j]) over all i with target 1 and j with target 0, divided by
// the number of classes: [...]. The work grows with the square of the number of classes.
// Errors: usage, for operands of different types and for scalars.
TRIREME_API Value multi_label_margin(const Value& x, const Value& target,
                                     MultiLabelMarginOptions options = {},
                                     SourceLocation where = SourceLocation::current());

struct MultiLabelSoftMarginOptions {
  std::vector<double> class_weights = {};  // as in CrossEntropyOptions
};
// The mean of the binary cross entropies of the classes, each times the weight of its class: [...].
// Errors: usage, for operands of different types, for scalars and for invalid weights.
TRIREME_API Value multi_label_soft_margin(const Value& x, const Value& target,
                                          const MultiLabelSoftMarginOptions& options = {},
                                          SourceLocation where = SourceLocation::current());

// --- Distributions ----------------------------------------------------------------------------

struct KlDivergenceOptions {
  bool log_target = false;  // whether the target is log p
};
// Elementwise p (log p - log q), 0 where p is 0. The sum over an axis is the Kullback-Leibler
// divergence of q from p. Compute log q with log_softmax(logits).
TRIREME_API Value kl_divergence(const Value& log_q, const Value& p,
                                KlDivergenceOptions options = {},
                                SourceLocation where = SourceLocation::current());

struct PoissonNllOptions {
  bool log_input = true;  // whether x is the logarithm of the expected count; else it is the count
  bool full = false;  // adds Stirling's approximation of log(target!) where the target is above 1
  double epsilon = 1e-8;  // added to x before taking its logarithm, if log_input is false
};
// Elementwise exp(x) - target x, or x - target log(x + epsilon).
TRIREME_API Value poisson_nll(const Value& x, const Value& target, PoissonNllOptions options = {},
                              SourceLocation where = SourceLocation::current());

struct GaussianNllOptions {
  bool full = false;      // adds the constant log(2 pi) / 2
  double epsilon = 1e-6;  // above 0; smaller variances count as this one
};
// Elementwise (log(variance) + (x - target)^2 / variance) / 2, for the mean x and the variance of a
// normal distribution, which a network may predict both: Nix and Weigend 1994. All have one type,
// and the variance is at least 0. A variance below epsilon gets the gradient of epsilon.
// Errors: usage, for operands of different types and an epsilon that is not above 0.
TRIREME_API Value gaussian_nll(const Value& x, const Value& target, const Value& variance,
                               GaussianNllOptions options = {},
                               SourceLocation where = SourceLocation::current());

// --- Pairs and triplets -----------------------------------------------------------------------
// Vectors are along the last axis; the result does not have this axis.

struct MarginRankingOptions {
  double margin = 0;
};
// Elementwise max(0, margin - order (a - b)). order is 1 if a should rank above b, else -1.
TRIREME_API Value margin_ranking(const Value& a, const Value& b, const Value& order,
                                 MarginRankingOptions options = {},
                                 SourceLocation where = SourceLocation::current());

struct TripletMarginOptions {
  double margin = 1;
  bool swap = false;  // uses the smaller of the distances of anchor and positive to the negative
  double epsilon = 1e-6;  // added to differences, for a finite gradient if vectors are equal
  // The distance of two batches of vectors, such as 1 - nn::cosine_similarity(a, b); it may have
  // any shape. Default: the Euclidean distance |a - b + epsilon|.
  std::function<Value(const Value& a, const Value& b)> distance = {};
};
// max(0, margin + |anchor - positive| - |anchor - negative|), where |.| may be another distance.
// Errors: usage, for vectors of different types, and for distances of different types.
TRIREME_API Value triplet_margin(const Value& anchor, const Value& positive, const Value& negative,
                                 const TripletMarginOptions& options = {},
                                 SourceLocation where = SourceLocation::current());

// In both, `similar` is 1 for pairs that belong together and 0 for other pairs.
struct CosineEmbeddingOptions {
  double margin = 0;
};
// 1 - cos(a, b) for similar pairs, max(0, cos(a, b) - margin) for others.
TRIREME_API Value cosine_embedding(const Value& a, const Value& b, const Value& similar,
                                   CosineEmbeddingOptions options = {},
                                   SourceLocation where = SourceLocation::current());
struct ContrastiveOptions {
  double margin = 1;
};
// d^2 / 2 with d = |a - b| for similar pairs, max(0, margin - d)^2 / 2 for others: Hadsell et al.
// 2006.
TRIREME_API Value contrastive(const Value& a, const Value& b, const Value& similar,
                              ContrastiveOptions options = {},
                              SourceLocation where = SourceLocation::current());

// --- Many classes -------------------------------------------------------------------------------
// For hidden [batch, width], labels i64[batch] in [0, classes) (data sets check that), and a table
// of parameters that the caller creates: weight [classes, width], bias [classes] or an empty Value.
// The logits are
//   matmul(hidden, weight, {.transpose_b = true}) + bias
// In training only a few rows of the table are gathered. The result is [batch]. In inference, which
// includes evaluation, the loss is exact and computes all logits of a batch.

enum class Sampler {
  // for classes sorted by decreasing frequency: P(k) = log((k + 2) / (k + 1)) / log(classes + 1)
  log_uniform,
  uniform,
};
struct SampledOptions {
  std::int64_t samples = 64;  // classes drawn for the whole batch, with replacement
  Sampler sampler = Sampler::log_uniform;
  // i64[n]: uses these classes instead of drawn ones, with the probabilities of `sampler`.
  Value candidates = {};
};
// In training, the cross entropy of the label among the label and the drawn classes. From each
// logit the logarithm of the expected count of the class among the drawn ones is subtracted. Drawn
// classes equal to the label do not count. Jean et al. 2015. In inference, the cross entropy among
// all classes.
TRIREME_API Value sampled_softmax(const Value& hidden, const Value& label, const Value& weight,
                                  const Value& bias, SampledOptions options = {},
                                  SourceLocation where = SourceLocation::current());
// Noise-contrastive estimation (Gutmann and Hyvarinen 2010; Mnih and Teh 2012). In training, the
// binary cross entropies of the label as data and of the drawn classes as noise, with the same
// logarithms subtracted from the logits. In inference, the cross entropy among all classes.
TRIREME_API Value nce(const Value& hidden, const Value& label, const Value& weight,
                      const Value& bias, SampledOptions options = {},
                      SourceLocation where = SourceLocation::current());

// The path from the root of a binary tree to each class: the inner nodes on it and, for each node,
// 1 or 0 for the branch taken. Shorter paths are padded with -1 and 0.
struct ClassTree {
  Tensor path, code;       // i64[classes, depth]
  std::int64_t nodes = 0;  // number of inner nodes, which is the number of rows of the table
};
// Builds a Huffman tree: frequent classes get short paths (Huffman 1952).
// Errors: usage, for fewer than two classes and for frequencies that are negative or not finite.
TRIREME_API ClassTree huffman_tree(const std::vector<double>& frequencies);

struct HierarchicalSoftmaxOptions {
  // i64[classes, depth], both or none: a tree of your own, such as untrained parameters with the
  // values of a ClassTree. Default: a complete binary tree of n + 1 classes, where n is the number
  // of rows of weight.
  Value path = {}, code = {};
};
// -log of the probability of the label. The probability is the product of the probabilities
// sigmoid(+-z) of the branches on its path: Morin and Bengio 2005. Here weight and bias have one
// row per inner node.
TRIREME_API Value hierarchical_softmax(const Value& hidden, const Value& label, const Value& weight,
                                       const Value& bias, HierarchicalSoftmaxOptions options = {},
                                       SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
