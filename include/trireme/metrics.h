#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/tensor.h"

namespace trireme {

// Something to measure besides the loss: a Value of the Program and how the values of many batches
// become one.
struct Metric {
  enum class Combine {
    mean,  // weighted by the batches' examples; the value is a scalar
    sum,   // added element by element; shown only by evaluate()
  };
  std::string name;
  Value value;
  Combine combine = Combine::mean;
};

// The share of examples whose largest logit is the label's. logits: f32[..., classes], label: i64[...].
TRIREME_API Metric accuracy(Value logits, Value label,
                            SourceLocation where = SourceLocation::current());
// The share of examples whose label is among the k largest logits; "top 5 accuracy".
TRIREME_API Metric top_k(Value logits, Value label, int k,
                         SourceLocation where = SourceLocation::current());
// f32[classes, classes]: row is the true class, column the predicted one, element the examples.
// logits: f32[batch, classes], label: i64[batch].
TRIREME_API Metric confusion_matrix(Value logits, Value label,
                                    SourceLocation where = SourceLocation::current());
// The mean of any value, element by element, under a name of one's own.
TRIREME_API Metric mean_of(std::string name, Value value,
                           SourceLocation where = SourceLocation::current());

// What was measured, in the order asked for. Prints as "loss 0.271  accuracy 0.902".
class TRIREME_API Metrics {
 public:
  double operator[](std::string_view name) const;  // Errors: not_found, with the nearest name
  bool has(std::string_view name) const;
  const Tensor& tensor(std::string_view name) const;  // of Combine::sum. Errors: not_found
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

}  // namespace trireme
