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

// Something to measure besides the loss: a Value of the Program, how the values of many batches
// become one, and, where that is not yet what is asked for, the number that is made of it.
struct Metric {
  enum class Combine {
    mean,  // weighted by the batches' examples; the value is a scalar
    sum,   // added element by element, in f64
    join,  // one behind the other along axis 0: all are kept, so memory grows with the data
  };
  std::string name = {};
  Value value = {};
  // Training measures means only; sums and what is joined are for evaluate() and validation.
  Combine combine = Combine::mean;
  // Of all that was measured: an f64 scalar for a mean, else a tensor. Not called without examples,
  // when every number is NaN. Empty: a mean is the number, a sum or a join a tensor.
  std::function<double(const Tensor& all)> finish = {};
  std::optional<bool> larger_better = {};  // not set: not known, and who watches it must say so

  bool is_number() const { return combine == Combine::mean || finish != nullptr; }
};

// --- Classes ----------------------------------------------------------------------------------
// logits: floats [..., classes], of which the largest is the prediction; label: i64[...], in
// [0, classes).

// The share of examples whose largest logit is the label's.
TRIREME_API Metric accuracy(Value logits, Value label,
                            SourceLocation where = SourceLocation::current());
// The share of examples whose label is among the k largest logits: "top_5_accuracy".
TRIREME_API Metric top_k(Value logits, Value label, int k,
                         SourceLocation where = SourceLocation::current());
// The mean of -log softmax(logits)[label]: "log_loss".
TRIREME_API Metric log_loss(Value logits, Value label,
                            SourceLocation where = SourceLocation::current());
// f32[classes, classes]: row is the true class, column the predicted one, element the examples.
// logits: f32[batch, classes], label: i64[batch].
TRIREME_API Metric confusion_matrix(Value logits, Value label,
                                    SourceLocation where = SourceLocation::current());

struct ClassOptions {
  enum class Average {
    macro,     // the mean over the classes that occur, as labels or as predictions
    micro,     // of the counts of all classes together
    weighted,  // the mean weighted by the examples of each class
  };
  Average average = Average::macro;
  std::int64_t of_class = -1;  // of this class alone, instead of an average; -1: none
};
// Of a class: right predictions / its predictions; right predictions / its examples; the harmonic
// mean of the two. 0 where there is nothing to divide by. Called "precision", "precision_micro",
// "precision_weighted" or, of class 3, "precision_3".
TRIREME_API Metric precision(Value logits, Value label, ClassOptions options = {},
                             SourceLocation where = SourceLocation::current());
TRIREME_API Metric recall(Value logits, Value label, ClassOptions options = {},
                          SourceLocation where = SourceLocation::current());
TRIREME_API Metric f1(Value logits, Value label, ClassOptions options = {},
                      SourceLocation where = SourceLocation::current());

// --- Two classes ------------------------------------------------------------------------------
// score: floats of any shape, the larger the more likely is the positive class; label: numbers of
// the same shape, 1 for the positive class and 0 for the other. Other labels and scores that are
// NaN are Error(data) when the number is made, but for the two that are means. Each element counts,
// so several yes-or-no answers for an example ([batch, labels]) are averaged micro.

struct BinaryOptions {
  double threshold = 0;  // above it an element is predicted positive: 0 for logits
};
TRIREME_API Metric binary_accuracy(Value score, Value label, BinaryOptions options = {},
                                   SourceLocation where = SourceLocation::current());
TRIREME_API Metric binary_precision(Value score, Value label, BinaryOptions options = {},
                                    SourceLocation where = SourceLocation::current());
TRIREME_API Metric binary_recall(Value score, Value label, BinaryOptions options = {},
                                 SourceLocation where = SourceLocation::current());
TRIREME_API Metric binary_f1(Value score, Value label, BinaryOptions options = {},
                             SourceLocation where = SourceLocation::current());
// The mean of the binary cross entropy of logits.
TRIREME_API Metric binary_log_loss(Value score, Value label,
                                   SourceLocation where = SourceLocation::current());

// The area under the ROC curve: how likely a positive element has a larger score than a negative
// one, where equal scores count half. Exact, by the rank-sum rule (Hanley and McNeil 1982); keeps 8
// bytes of each element. NaN if there are only positive or only negative elements.
TRIREME_API Metric auc(Value score, Value label, SourceLocation where = SourceLocation::current());

struct StreamingAucOptions {
  std::int64_t bins = 4096;     // of equal width in [low, high]; 1 or more
  double low = -16, high = 16;  // for logits; scores beyond them count as these
};
// The same with scores of one bin taken for equal: memory does not grow with the data. With P_b
// positive and N_b negative elements in bin b, of P and N in all, it differs from auc() by at most
// sum(P_b N_b) / (2 P N), which is what streaming_auc_error measures.
TRIREME_API Metric streaming_auc(Value score, Value label, StreamingAucOptions options = {},
                                 SourceLocation where = SourceLocation::current());
TRIREME_API Metric streaming_auc_error(Value score, Value label, StreamingAucOptions options = {},
                                       SourceLocation where = SourceLocation::current());

// --- Rankings ---------------------------------------------------------------------------------

// scores: floats [batch, items]; relevant: numbers of the same shape, 1 or 0. Of a row, the mean
// over its relevant items of the share of relevant ones among all that are scored no lower; then
// the mean over the rows that have a relevant item: "mean_average_precision". NaN if none has one.
// Every pair of items is compared.
TRIREME_API Metric mean_average_precision(Value scores, Value relevant,
                                          SourceLocation where = SourceLocation::current());

// --- Sequences --------------------------------------------------------------------------------

// exp(the mean loss of all tokens): "perplexity". loss_per_token: floats of any shape, the negative
// log-likelihoods; each element counts, however many a batch has of them.
TRIREME_API Metric perplexity(Value loss_per_token,
                              SourceLocation where = SourceLocation::current());
// The same where each token counts `weight`, numbers of the same shape: 0 for padding.
TRIREME_API Metric perplexity(Value loss_per_token, Value weight,
                              SourceLocation where = SourceLocation::current());

// Of chunks, what ChunkF1 (trireme/sequence_metrics.h) says of ids of options.tags: "chunk_f1",
// "chunk_precision" and "chunk_recall". predicted and right: i64[tokens], all sequences of a batch one
// behind the other; splits: i64[sequences + 1], where each begins and the last ends. Keeps 16 bytes of
// each token and 8 of each sequence. Ids without a tag and wrong splits are Error(data) when the number
// is made.
TRIREME_API Metric chunk_f1(Value predicted, Value right, Value splits, ChunkOptions options,
                            SourceLocation where = SourceLocation::current());
TRIREME_API Metric chunk_precision(Value predicted, Value right, Value splits, ChunkOptions options,
                                   SourceLocation where = SourceLocation::current());
TRIREME_API Metric chunk_recall(Value predicted, Value right, Value splits, ChunkOptions options,
                                SourceLocation where = SourceLocation::current());

// --- Numbers ----------------------------------------------------------------------------------
// predicted and target: floats of one shape. Each element counts.

TRIREME_API Metric rmse(Value predicted, Value target,
                        SourceLocation where = SourceLocation::current());
TRIREME_API Metric mae(Value predicted, Value target,
                       SourceLocation where = SourceLocation::current());
// 1 - (sum of squared errors) / (sum of squared differences of the targets from their mean), over
// all elements. Where all targets are equal: 1 without any error, else 0; NaN for a single element.
TRIREME_API Metric r2(Value predicted, Value target,
                      SourceLocation where = SourceLocation::current());

// The mean of any value, element by element, under a name of one's own.
TRIREME_API Metric mean_of(std::string name, Value value,
                           SourceLocation where = SourceLocation::current());

// What was measured, in the order asked for. Prints as "loss 0.271  accuracy 0.902".
class TRIREME_API Metrics {
 public:
  double operator[](std::string_view name) const;  // Errors: not_found, with the nearest name
  bool has(std::string_view name) const;
  // Of metrics that are no numbers. Errors: not_found
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

// A confusion matrix as text for people, with a column of recalls; zeros are dots.
TRIREME_API std::string confusion_table(const Tensor& matrix,
                                        const std::vector<std::string>& class_names = {});

// What a confusion matrix says of each class; the numbers are those of precision(), recall(), f1().
struct ClassReport {
  std::vector<double> precision, recall, f1;
  std::vector<std::int64_t> examples;  // of the class
};
// Errors: usage, if it is no square matrix.
TRIREME_API ClassReport class_report(const Tensor& confusion);

}  // namespace trireme
