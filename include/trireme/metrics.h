#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/sequence_metrics.h"
#include "trireme/tensor.h"

namespace trireme {

// A metric in addition to the loss: a Value of the Program, how the values of many batches are
// combined, and, if needed, a function that computes the final number from the combined value.
struct Metric {
  enum class Combine {
    mean,   // mean over batches, weighted by their examples; the value is a scalar
    ratio,  // the sum of value[0] over the sum of value[1], NaN if that is 0; the value is [2]
    sum,    // added element by element, in f64
    join,   // concatenated along axis 0: all values are kept, so memory grows with the data
  };
  std::string name = {};
  Value value = {};
  // Training measures only means and ratios; sums and joins are for evaluate() and validation.
  Combine combine = Combine::mean;
  // Computes the number from the combined value: an f64 scalar for a mean or a ratio, else a
  // tensor. Not called if there were no examples; every number is then NaN. Empty: a mean or ratio
  // is the number, a sum or a join is a tensor.
  std::function<double(const Tensor& all)> finish = {};
  // not set: unknown; to watch this metric, set Watch::larger_better
  std::optional<bool> larger_better = {};
  // Computes the tensor of a sum or a join that is not a number, such as the points of a curve,
  // from the combined value. Not called if there were no examples.
  std::function<Tensor(const Tensor& all)> finish_tensor = {};

  // Whether training measures it.
  bool is_average() const { return combine == Combine::mean || combine == Combine::ratio; }
  bool is_number() const { return is_average() || finish != nullptr; }
};

// Returns the number, or the tensor, of a metric of Arrays (trireme/array.h), which are one batch:
// measure(auc(Array(scores), Array(labels))). Errors: usage, for a metric of Values of a Program,
// or of the other kind; those of the metric.
TRIREME_API double measure(const Metric& metric);
TRIREME_API Tensor measure_tensor(const Metric& metric);

// --- Classes ----------------------------------------------------------------------------------
// logits: floats [..., classes]; the largest is the prediction. label: i64[...], in [0, classes).

struct LabelOptions {
  // Examples with this label do not count, as for nn::cross_entropy(). A metric is NaN if no
  // example counts.
  std::optional<std::int64_t> ignore_index = {};
};

// The fraction of examples whose largest logit is that of the label.
TRIREME_API Metric accuracy(Value logits, Value label, LabelOptions options = {},
                            SourceLocation where = SourceLocation::current());
// The fraction of examples whose label is among the k largest logits: "top_5_accuracy".
TRIREME_API Metric top_k_accuracy(Value logits, Value label, int k, LabelOptions options = {},
                                  SourceLocation where = SourceLocation::current());
[[deprecated("use top_k_accuracy()")]] inline Metric top_k(
    Value logits, Value label, int k, SourceLocation where = SourceLocation::current()) {
  return top_k_accuracy(std::move(logits), std::move(label), k, {}, where);
}
// The mean of -log softmax(logits)[label]: "log_loss".
TRIREME_API Metric log_loss(Value logits, Value label, LabelOptions options = {},
                            SourceLocation where = SourceLocation::current());
// f32[classes, classes]: rows are true classes, columns predicted classes, elements numbers of
// examples. logits: f32[batch, classes], label: i64[batch].
TRIREME_API Metric confusion_matrix(Value logits, Value label, LabelOptions options = {},
                                    SourceLocation where = SourceLocation::current());

struct ClassOptions {
  enum class Average {
    macro,     // mean over the classes that occur as labels or predictions
    micro,     // computed from the counts of all classes together
    weighted,  // mean weighted by the number of examples of each class
  };
  Average average = Average::macro;
  std::int64_t of_class = -1;  // only this class, without an average; -1: all classes
  std::optional<std::int64_t> ignore_index = {};  // as in LabelOptions
};
// For a class: correct predictions / its predictions; correct predictions / its examples; the
// harmonic mean of the two. 0 if the divisor is 0. Named "precision", "precision_micro",
// "precision_weighted" or, for class 3, "precision_3".
TRIREME_API Metric precision(Value logits, Value label, ClassOptions options = {},
                             SourceLocation where = SourceLocation::current());
TRIREME_API Metric recall(Value logits, Value label, ClassOptions options = {},
                          SourceLocation where = SourceLocation::current());
TRIREME_API Metric f1(Value logits, Value label, ClassOptions options = {},
                      SourceLocation where = SourceLocation::current());

// Intersection over union (Jaccard 1912), such as of the pixels of a segmentation: correct
// predictions / elements that are of the class, or predicted to be. 0 if the divisor is 0. Named as
// precision(): "iou", "iou_micro", "iou_weighted" or "iou_3".
TRIREME_API Metric iou(Value logits, Value label, ClassOptions options = {},
                       SourceLocation where = SourceLocation::current());
// The same for each class: a tensor f64[classes], NaN for classes that do not occur: "class_iou".
TRIREME_API Metric class_iou(Value logits, Value label, LabelOptions options = {},
                             SourceLocation where = SourceLocation::current());

struct KappaOptions {
  enum class Weights {
    none,       // all errors count the same
    linear,     // an error counts as the distance of the two classes
    quadratic,  // as its square
  };
  Weights weights = Weights::none;                // the others are for ordered classes
  std::optional<std::int64_t> ignore_index = {};  // as in LabelOptions
};
// Agreement beyond chance (Cohen 1960, weights: Cohen 1968): 1 - errors / (errors expected if
// predictions and labels were independent). 1 is perfect, 0 no better than chance. NaN if all
// predictions and labels are of one class. Named "cohen_kappa", "cohen_kappa_linear" or
// "cohen_kappa_quadratic".
TRIREME_API Metric cohen_kappa(Value logits, Value label, KappaOptions options = {},
                               SourceLocation where = SourceLocation::current());

// The correlation of predictions and labels (Matthews 1975; for more than two classes R_K, Gorodkin
// 2004), in [-1, 1]: "matthews_correlation". 0 if all predictions, or all labels, are of one class.
TRIREME_API Metric matthews_correlation(Value logits, Value label, LabelOptions options = {},
                                        SourceLocation where = SourceLocation::current());

struct CalibrationOptions {
  enum class Norm {
    mean,     // expected calibration error
    max,      // of the worst bin
    squared,  // the root of the mean square
  };
  std::int64_t bins = 15;  // of equal width in (0, 1]
  Norm norm = Norm::mean;
  std::optional<std::int64_t> ignore_index = {};  // as in LabelOptions
};
// How far the confidence, the softmax of the predicted class, differs from the accuracy: their
// means are compared in bins of equal confidence, and the differences averaged with the numbers of
// examples as weights (Naeini and others 2015; Guo and others 2017, whose bins these are). Named
// "calibration_error", "calibration_error_max" or "calibration_error_squared".
// Errors: data when evaluated, for logits that are NaN or +infinity.
TRIREME_API Metric calibration_error(Value logits, Value label, CalibrationOptions options = {},
                                     SourceLocation where = SourceLocation::current());

// --- Two classes ------------------------------------------------------------------------------
// score: floats of any shape; a larger score means that the positive class is more likely. label:
// numbers of the same shape, 1 for the positive class and 0 for the other. Other labels and NaN
// scores are Error(data) when the number is computed, except for binary_accuracy and
// binary_log_loss, which are means. Every element counts, so several labels per example ([batch,
// labels]) give the micro average.

struct BinaryOptions {
  double threshold = 0;  // elements with a score above it are predicted positive: 0 for logits
};
TRIREME_API Metric binary_accuracy(Value score, Value label, BinaryOptions options = {},
                                   SourceLocation where = SourceLocation::current());
TRIREME_API Metric binary_precision(Value score, Value label, BinaryOptions options = {},
                                    SourceLocation where = SourceLocation::current());
TRIREME_API Metric binary_recall(Value score, Value label, BinaryOptions options = {},
                                 SourceLocation where = SourceLocation::current());
TRIREME_API Metric binary_f1(Value score, Value label, BinaryOptions options = {},
                             SourceLocation where = SourceLocation::current());
// As iou(), of the positive class, cohen_kappa() and matthews_correlation() of the two classes.
TRIREME_API Metric binary_iou(Value score, Value label, BinaryOptions options = {},
                              SourceLocation where = SourceLocation::current());
TRIREME_API Metric binary_cohen_kappa(Value score, Value label, BinaryOptions options = {},
                                      SourceLocation where = SourceLocation::current());
TRIREME_API Metric binary_matthews_correlation(Value score, Value label, BinaryOptions options = {},
                                               SourceLocation where = SourceLocation::current());
// As calibration_error(), of the probability of the positive class: scores are logits.
TRIREME_API Metric binary_calibration_error(Value score, Value label,
                                            CalibrationOptions options = {},
                                            SourceLocation where = SourceLocation::current());
// The mean of the binary cross entropy of logits.
TRIREME_API Metric binary_log_loss(Value score, Value label,
                                   SourceLocation where = SourceLocation::current());

// The area under the ROC curve: the probability that a positive element has a larger score than a
// negative one; equal scores count half. Exact, with the rank-sum rule (Hanley and McNeil 1982).
// Keeps 8 bytes per element. NaN if all elements are positive or all are negative.
TRIREME_API Metric auc(Value score, Value label, SourceLocation where = SourceLocation::current());

struct RocOptions {
  // Leaves out points between two others on a straight line: the curve stays the same.
  bool drop_intermediate = true;
};
// The ROC curve: a tensor f64[points, 3] with the columns false positive rate, true positive rate
// and threshold, by falling threshold: "roc_curve". Elements with at least this score are predicted
// positive. The first threshold is infinite, and every distinct score is another. A rate is NaN if
// its class does not occur. Memory as for auc().
TRIREME_API Metric roc_curve(Value score, Value label, RocOptions options = {},
                             SourceLocation where = SourceLocation::current());
// The precision-recall curve: a tensor f64[points, 3] with the columns precision, recall and
// threshold, by rising threshold: "pr_curve". Every distinct score is a threshold, and the last
// point is precision 1, recall 0 and an infinite threshold. Recall is NaN without positives.
TRIREME_API Metric pr_curve(Value score, Value label,
                            SourceLocation where = SourceLocation::current());
// The sum over this curve of precision times the step of recall, without interpolation:
// "average_precision". NaN if no element is positive.
TRIREME_API Metric average_precision(Value score, Value label,
                                     SourceLocation where = SourceLocation::current());

struct StreamingAucOptions {
  std::int64_t bins = 4096;     // of equal width in [low, high]; 1 or more
  double low = -16, high = 16;  // for logits; scores outside are clamped to these
};
// The same, but scores in one bin count as equal, so memory does not grow with the data. With P_b
// positive and N_b negative elements in bin b, and P and N in all, it differs from auc() by at most
// sum(P_b N_b) / (2 P N). streaming_auc_error measures this bound.
TRIREME_API Metric streaming_auc(Value score, Value label, StreamingAucOptions options = {},
                                 SourceLocation where = SourceLocation::current());
TRIREME_API Metric streaming_auc_error(Value score, Value label, StreamingAucOptions options = {},
                                       SourceLocation where = SourceLocation::current());

// --- Rankings ---------------------------------------------------------------------------------

// scores: floats [batch, items]; relevant: 1 or 0, of the same shape. For each relevant item: the
// share of relevant items among those with at least its score; the mean of these over a row, then
// over the rows that have one: "mean_average_precision". NaN if no row has. Compares all pairs.
// Errors: data when evaluated, for a score that is NaN and a `relevant` other than 0 and 1.
TRIREME_API Metric mean_average_precision(Value scores, Value relevant,
                                          SourceLocation where = SourceLocation::current());

struct RankingOptions {
  std::int64_t k = 0;  // counts the first k places of a group; 0: all
};
// Examples in ranking groups, such as the documents of a query. score: floats, one for each
// example; relevance: numbers of the same shape, 0 or more; group: integers, one for each example,
// below 2^53. The examples of a group need not follow each other. Each metric is a mean over the
// groups that have an example with relevance above 0, and NaN if there is none.
// Errors: data when evaluated, for a score that is NaN and a relevance below 0.
//
// The sum of (2^relevance - 1) / log2(place + 1) over the places, from 1, of the examples by
// falling score, divided by the largest possible sum: "ndcg", or "ndcg_10". Equal scores share
// their places.
TRIREME_API Metric ndcg(Value score, Value relevance, Value group, RankingOptions options = {},
                        SourceLocation where = SourceLocation::current());
// The share of relevant examples (above 0) among those with at least its score, for each relevant
// example; the mean of these: "map".
TRIREME_API Metric grouped_average_precision(Value score, Value relevance, Value group,
                                             SourceLocation where = SourceLocation::current());
// 1 / place of the first relevant example, after the others with its score, or 0 if it is beyond
// the first k: "mrr".
TRIREME_API Metric reciprocal_rank(Value score, Value relevance, Value group,
                                   RankingOptions options = {},
                                   SourceLocation where = SourceLocation::current());

// The share of groups with a relevant example in the first k places: "hit_rate", or "hit_rate_10".
// An example comes after the others with its score, as in reciprocal_rank().
TRIREME_API Metric hit_rate(Value score, Value relevance, Value group, RankingOptions options = {},
                            SourceLocation where = SourceLocation::current());

// --- Sequences --------------------------------------------------------------------------------

// exp(the mean loss of all tokens): "perplexity". loss_per_token: floats of any shape, the negative
// log-likelihoods. Every element counts the same.
TRIREME_API Metric perplexity(Value loss_per_token,
                              SourceLocation where = SourceLocation::current());
// The same with a weight for each token, numbers of the same shape: 0 for padding.
TRIREME_API Metric perplexity(Value loss_per_token, Value weight,
                              SourceLocation where = SourceLocation::current());

// Chunk metrics as in ChunkF1 (trireme/sequence_metrics.h), for ids of options.tags: "chunk_f1",
// "chunk_precision" and "chunk_recall". predicted and right: i64[tokens], all sequences of a batch
// concatenated. splits: i64[sequences + 1], the start of each sequence and the end of the last.
// Keeps 16 bytes per token and 8 per sequence. Ids without a tag and wrong splits are Error(data)
// when the number is computed.
TRIREME_API Metric chunk_f1(Value predicted, Value right, Value splits, ChunkOptions options,
                            SourceLocation where = SourceLocation::current());
TRIREME_API Metric chunk_precision(Value predicted, Value right, Value splits, ChunkOptions options,
                                   SourceLocation where = SourceLocation::current());
TRIREME_API Metric chunk_recall(Value predicted, Value right, Value splits, ChunkOptions options,
                                SourceLocation where = SourceLocation::current());

// --- Numbers ----------------------------------------------------------------------------------
// predicted and target: floats of the same shape. Every element counts.

TRIREME_API Metric rmse(Value predicted, Value target,
                        SourceLocation where = SourceLocation::current());
TRIREME_API Metric mae(Value predicted, Value target,
                       SourceLocation where = SourceLocation::current());
// 1 - (sum of squared errors) / (sum of squared deviations of the targets from their mean), over
// all elements. If all targets are equal: 1 if there is no error, else 0. NaN for a single element.
TRIREME_API Metric r2(Value predicted, Value target,
                      SourceLocation where = SourceLocation::current());

// The quantile of the absolute errors, linear between two of them, for quantile in [0, 1]:
// "absolute_error_quantile_0.9", and for 0.5 "median_absolute_error". NaN if an error is. Keeps all
// errors.
TRIREME_API Metric absolute_error_quantile(Value predicted, Value target, double quantile,
                                           SourceLocation where = SourceLocation::current());
TRIREME_API Metric median_absolute_error(Value predicted, Value target,
                                         SourceLocation where = SourceLocation::current());
// The mean of quantile * (target - predicted) where the target is larger, and of (1 - quantile) *
// (predicted - target) where it is not: "pinball_loss_0.9". The best prediction is the quantile of
// the targets (Koenker and Bassett 1978). quantile is in [0, 1].
TRIREME_API Metric pinball_loss(Value predicted, Value target, double quantile,
                                SourceLocation where = SourceLocation::current());

// --- Images -----------------------------------------------------------------------------------
// predicted and target: floats [batch, channels, height, width] of one shape.

struct PsnrOptions {
  double range = 1;  // the largest possible difference of two pixels: 255 for bytes
};
// The peak signal-to-noise ratio in decibels, 10 log10(range^2 / mean squared error), of each
// image; the mean of these: "psnr". Infinite if an image has no error.
TRIREME_API Metric psnr(Value predicted, Value target, PsnrOptions options = {},
                        SourceLocation where = SourceLocation::current());

struct SsimOptions {
  double range = 1;          // as in PsnrOptions
  std::int64_t window = 11;  // odd; height and width are at least this
  double sigma = 1.5;        // standard deviation of the window's Gaussian, in pixels
  double k1 = 0.01, k2 = 0.03;
};
// The structural similarity of Wang, Bovik, Sheikh and Simoncelli 2004: the mean over all windows
// that lie within the image, over channels and images, in [-1, 1]: "ssim".
TRIREME_API Metric ssim(Value predicted, Value target, SsimOptions options = {},
                        SourceLocation where = SourceLocation::current());

// The mean of any value, elementwise, with a name of your choice.
TRIREME_API Metric mean_of(std::string name, Value value,
                           SourceLocation where = SourceLocation::current());

// The results of an evaluation, in the requested order. Prints as "loss 0.271  accuracy 0.902".
class TRIREME_API Metrics {
 public:
  double operator[](std::string_view name) const;  // Errors: not_found, with the nearest name
  bool has(std::string_view name) const;
  // Results of metrics that are not numbers.
  // Errors: not_found
  const Tensor& tensor(std::string_view name) const;
  std::string str() const;

  const std::vector<std::pair<std::string, double>>& numbers() const { return numbers_; }
  const std::vector<std::pair<std::string, Tensor>>& tensors() const { return tensors_; }
  std::int64_t examples() const { return examples_; }

 private:
  friend class MetricSum;
  std::vector<std::pair<std::string, double>> numbers_;
  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::int64_t examples_ = 0;
};
TRIREME_API std::ostream& operator<<(std::ostream& out, const Metrics& metrics);

// A confusion matrix as text, with a column of recalls; zeros are printed as dots.
TRIREME_API std::string confusion_table(const Tensor& matrix,
                                        const std::vector<std::string>& class_names = {});

// Metrics of each class from a confusion matrix; the same values as precision(), recall(), f1().
struct ClassReport {
  std::vector<double> precision, recall, f1;
  std::vector<std::int64_t> examples;  // of each class
};
// Errors: usage, if the tensor is not a square matrix.
TRIREME_API ClassReport class_report(const Tensor& confusion);

}  // namespace trireme
