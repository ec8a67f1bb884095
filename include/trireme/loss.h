#pragma once

// Losses, not yet averaged: mean(nn::cross_entropy(logits, label)).

#include <cstdint>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/tensor.h"

namespace trireme::nn {

struct CrossEntropyOptions {
  double label_smoothing = 0;  // of the target, spread evenly over all classes; in [0, 1)
};
// -log softmax(logits)[label], for logits [..., classes] and integer labels [...]. Labels must
// be in [0, classes): data sets check that.
TRIREME_API Value cross_entropy(const Value& logits, const Value& label,
                                CrossEntropyOptions options = {},
                                SourceLocation where = SourceLocation::current());

// Element by element, for targets in [0, 1]; safe for large logits.
TRIREME_API Value binary_cross_entropy_with_logits(
    const Value& logits, const Value& target, SourceLocation where = SourceLocation::current());

// Element by element: (x - target)^2 and |x - target|.
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

// --- Yes or no --------------------------------------------------------------------------------
// Element by element, for targets 0 and 1.

struct HingeOptions {
  double margin = 1;
};
// max(0, margin - y x), with y = 2 target - 1, and the square of that.
TRIREME_API Value hinge(const Value& x, const Value& target, HingeOptions options = {},
                        SourceLocation where = SourceLocation::current());
TRIREME_API Value squared_hinge(const Value& x, const Value& target, HingeOptions options = {},
                                SourceLocation where = SourceLocation::current());

struct FocalOptions {
  double gamma = 2;     // 0 or more; how much less the examples count that are right already
  double alpha = 0.25;  // weight of the targets 1, in [0, 1]; the others weigh 1 - alpha
};
// -alpha_t (1 - p_t)^gamma log p_t of logits, p_t being the probability of the target: Lin et al.
// 2017.
TRIREME_API Value focal(const Value& x, const Value& target, FocalOptions options = {},
                        SourceLocation where = SourceLocation::current());

struct DiceOptions {
  double smooth = 1;  // 0 or more; keeps the quotient defined where both are empty
};
// 1 - (2 sum(p t) + smooth) / (sum(p) + sum(t) + smooth) over all axes but the first, for
// probabilities p (not logits) and targets t of one shape: [batch]. Milletari et al. 2016.
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

// --- Distributions ----------------------------------------------------------------------------

struct KlDivergenceOptions {
  bool log_target = false;  // the target is given as log p
};
// Element by element p (log p - log q), 0 where p is 0; their sum over an axis is the divergence of q
// from p. Give log q as log_softmax(logits) does.
TRIREME_API Value kl_divergence(const Value& log_q, const Value& p,
                                KlDivergenceOptions options = {},
                                SourceLocation where = SourceLocation::current());

struct PoissonNllOptions {
  bool log_input = true;  // x is the logarithm of the expected count; else the count itself
  bool full = false;      // with Stirling's log(target!) where the target is above 1
  double epsilon = 1e-8;  // added to x before its logarithm is taken, without log_input
};
// Element by element exp(x) - target x, or x - target log(x + epsilon).
TRIREME_API Value poisson_nll(const Value& x, const Value& target, PoissonNllOptions options = {},
                              SourceLocation where = SourceLocation::current());

// --- Pairs and triplets -----------------------------------------------------------------------
// Vectors lie along the last axis, which the result has no more.

struct MarginRankingOptions {
  double margin = 0;
};
// Element by element max(0, margin - order (a - b)): order is 1 where a is to rank above b, else -1.
TRIREME_API Value margin_ranking(const Value& a, const Value& b, const Value& order,
                                 MarginRankingOptions options = {},
                                 SourceLocation where = SourceLocation::current());

struct TripletMarginOptions {
  double margin = 1;
  bool swap = false;      // takes the nearer of anchor and positive to the negative
  double epsilon = 1e-6;  // added to differences, for the gradient of equal vectors
};
// max(0, margin + |anchor - positive| - |anchor - negative|).
TRIREME_API Value triplet_margin(const Value& anchor, const Value& positive, const Value& negative,
                                 TripletMarginOptions options = {},
                                 SourceLocation where = SourceLocation::current());

// In both, `similar` is 1 for pairs that belong together and 0 for others.
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
// Half the square of d = |a - b| for similar pairs, of max(0, margin - d) for others: Hadsell et al.
// 2006.
TRIREME_API Value contrastive(const Value& a, const Value& b, const Value& similar,
                              ContrastiveOptions options = {},
                              SourceLocation where = SourceLocation::current());

// --- Very many classes ------------------------------------------------------------------------
// For hidden [batch, width], labels i64[batch] in [0, classes), which data sets check, and a table of parameters that is the caller's own:
// weight [classes, width], bias [classes] or an empty Value. The logits are
//   matmul(hidden, weight, {.transpose_b = true}) + bias
// and training touches but a few rows of the table, which are gathered. The result is [batch]. What
// is said of inference holds for evaluation too: it is exact, and makes all logits of a batch.

enum class Sampler {
  log_uniform,  // class k by log((k + 2) / (k + 1)) / log(classes + 1): for classes by falling frequency
  uniform,
};
struct SampledOptions {
  std::int64_t samples = 64;  // classes drawn for the whole batch, with replacement
  Sampler sampler = Sampler::log_uniform;
  // i64[n]: these classes instead of drawn ones; they count as drawn by `sampler`.
  Value candidates = {};
};
// In training cross entropy of the label among the label and the drawn classes, each logit less the
// logarithm of how often the class is expected among them; drawn classes that are the label do not
// count. Jean et al. 2015. In inference the cross entropy among all classes.
TRIREME_API Value sampled_softmax(const Value& hidden, const Value& label, const Value& weight,
                                  const Value& bias, SampledOptions options = {},
                                  SourceLocation where = SourceLocation::current());
// Noise-contrastive estimation (Gutmann and Hyvarinen 2010; Mnih and Teh 2012): in training the binary
// cross entropies of the label as data and of the drawn classes as noise, of logits less the same
// logarithms. In inference the cross entropy among all classes.
TRIREME_API Value nce(const Value& hidden, const Value& label, const Value& weight,
                      const Value& bias, SampledOptions options = {},
                      SourceLocation where = SourceLocation::current());

// The way from the root of a binary tree to each class: the inner nodes that are passed and, at each,
// 1 or 0 for the branch taken. Shorter ways are filled up with -1 and 0.
struct ClassTree {
  Tensor path, code;       // i64[classes, depth]
  std::int64_t nodes = 0;  // inner nodes: rows of the table
};
// Frequent classes get short ways (Huffman 1952). Errors: usage, for less than two classes and for
// frequencies that are negative or not finite.
TRIREME_API ClassTree huffman_tree(const std::vector<double>& frequencies);

struct HierarchicalSoftmaxOptions {
  // i64[classes, depth], both or none: a tree of one's own, such as parameters that are not trained
  // and that hold a ClassTree. Without them a complete binary tree of weight's rows + 1 classes.
  Value path = {}, code = {};
};
// -log of the probability of the label, the product of the probabilities sigmoid(+-z) of the
// branches on its way: Morin and Bengio 2005. Here weight and bias have a row for each inner node.
TRIREME_API Value hierarchical_softmax(const Value& hidden, const Value& label, const Value& weight,
                                       const Value& bias, HierarchicalSoftmaxOptions options = {},
                                       SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
