// ctc: log-probabilities, splits, labels, label_splits, loss. Attributes: blank, zero_infinity.
// ctc_gradient: the same four operands, gradient. Attribute: blank.
// Connectionist temporal classification: Graves et al. 2006, sections 4.1 and 4.2, in logarithms.
// The states s of a chain are the labels of a sequence, with a blank before the first, between any
// two and after the last. An alignment goes from one of the first two states to one of the last
// two. Each row stays in its state, moves to the next state, or skips a blank between unequal
// labels.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "kernels/call.h"
#include "kernels/families.h"
#include "kernels/segments.h"

namespace trireme::kernels {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b) + exp(c)); NaN if one of them is.
double log_add(double a, double b, double c = kNever) {
  const double ab = a < b ? b : a, top = ab < c ? c : ab;
  if (!(top > kNever)) return a + b + c;
  return top + std::log(std::exp(a - top) + std::exp(b - top) + std::exp(c - top));
}

// One sequence's rows and labels.
template <class T>
struct States {
  const T* x;  // [rows, classes]
  std::int64_t rows, classes;
  const std::int64_t* labels;
  std::int64_t count;  // of labels
  std::int64_t blank;

  std::int64_t size() const { return 2 * count + 1; }
  std::int64_t class_of(std::int64_t s) const { return s % 2 == 0 ? blank : labels[s / 2]; }
  double emitted(std::int64_t t, std::int64_t s) const {
    return static_cast<double>(x[t * classes + class_of(s)]);
  }
  // Whether state s may follow s - 2.
  bool leaps_to(std::int64_t s) const {
    return s % 2 == 1 && s >= 3 && labels[s / 2] != labels[s / 2 - 1];
  }

  // The states after row 0: alpha[s], with the row's own emission.
  void begin(double* alpha) const {
    std::fill(alpha, alpha + size(), kNever);
    for (std::int64_t s = 0; s < std::min<std::int64_t>(2, size()); ++s) alpha[s] = emitted(0, s);
  }
  // Those after row t from those before; `alpha` may be `before`.
  void go_on(const double* before, std::int64_t t, double* alpha) const {
    for (std::int64_t s = size() - 1; s >= 0; --s) {
      const double total =
          log_add(before[s], s >= 1 ? before[s - 1] : kNever, leaps_to(s) ? before[s - 2] : kNever);
      alpha[s] = total + emitted(t, s);
    }
  }
  double total(const double* alpha) const {
    const std::int64_t last = size() - 1;
    return last == 0 ? alpha[0] : log_add(alpha[last], alpha[last - 1]);
  }

  // From the end: beta[s] of the rows behind t, without row t's emission.
  void end(double* beta) const {
    std::fill(beta, beta + size(), kNever);
    beta[size() - 1] = 0;
    if (size() > 1) beta[size() - 2] = 0;
  }
  // Computes beta before the emission of row t from beta after it, in place.
  void go_back(std::int64_t t, double* beta) const {
    for (std::int64_t s = 0; s < size(); ++s) beta[s] += emitted(t, s);
    for (std::int64_t s = 0; s < size(); ++s) {
      beta[s] = log_add(beta[s], s + 1 < size() ? beta[s + 1] : kNever,
                        s + 2 < size() && leaps_to(s + 2) ? beta[s + 2] : kNever);
    }
  }
};

// Common to the loss and its gradient: sequences of rows and of labels, and memory for their
// states.
template <class T>
class Ctc : public KernelInstance {
 public:
  explicit Ctc(const Call& call)
      : sequences_(call.tensors[1].shape[0] - 1),
        rows_(call.tensors[0].shape[0]),
        classes_(call.tensors[0].shape[1]),
        labels_(call.tensors[2].shape[0]),
        blank_(integer(call, "blank", 0)),
        zero_infinity_(flag(call, "zero_infinity")) {}

 protected:
  // Calls body(sequence, its states, its memory) for each sequence, different ones in parallel. The
  // memory has columns(rows of the sequence) numbers for each state.
  template <class Columns, class Body>
  void for_each(const char* kernel, void* const* tensors, device::Device& device,
                const Columns& columns, const Body& body) {
    const auto* x = static_cast<const T*>(tensors[0]);
    const auto* splits = static_cast<const std::int64_t*>(tensors[1]);
    const auto* labels = static_cast<const std::int64_t*>(tensors[2]);
    const auto* label_splits = static_cast<const std::int64_t*>(tensors[3]);
    check_splits(kernel, splits, sequences_, rows_);
    check_splits(kernel, label_splits, sequences_, labels_);
    check_labels(kernel, labels);
    const auto states = [&](std::int64_t i) {
      return States<T>{x + splits[i] * classes_,
                       splits[i + 1] - splits[i],
                       classes_,
                       labels + label_splits[i],
                       label_splits[i + 1] - label_splits[i],
                       blank_};
    };
    places_.assign(1, 0);
    for (std::int64_t i = 0; i < sequences_; ++i) {
      const States<T> s = states(i);
      places_.push_back(places_.back() + s.size() * columns(s.rows));
    }
    memory_.resize(std::max(memory_.size(), static_cast<std::size_t>(places_.back())));
    device.run(sequences_, 1, sequences_ > 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        body(i, states(i), memory_.data() + places_[static_cast<std::size_t>(i)]);
      }
    });
  }

  std::int64_t sequences_, rows_, classes_, labels_, blank_;
  bool zero_infinity_;

 private:
  void check_labels(const char* kernel, const std::int64_t* labels) const {
    for (std::int64_t i = 0; i < labels_; ++i) {
      if (labels[i] >= 0 && labels[i] < classes_ && labels[i] != blank_) continue;
      fail_data(fmt::format(
          "{}: label {} at [{}] is {}\n  hint   labels are numbers of classes in [0, {}), of which "
          "{} is the blank",
          kernel, labels[i], i, labels[i] == blank_ ? "the blank" : "no class", classes_, blank_));
    }
  }

  std::vector<double> memory_;  // grows to what the largest batch needs
  std::vector<std::int64_t> places_;
};

template <class T>
class CtcLoss : public Ctc<T> {
 public:
  using Ctc<T>::Ctc;

  void run(void* const* tensors, void*, device::Device& device) override {
    auto* loss = static_cast<T*>(tensors[4]);
    this->for_each(
        "ctc", tensors, device, [](std::int64_t) { return 1; },
        [&](std::int64_t i, const States<T>& states, double* alpha) {
          const double total = logarithm(states, alpha);
          loss[i] = total == kNever && this->zero_infinity_ ? T{0} : static_cast<T>(-total);
        });
  }

 private:
  static double logarithm(const States<T>& states, double* alpha) {
    if (states.rows == 0) return states.count == 0 ? 0 : kNever;
    states.begin(alpha);
    for (std::int64_t t = 1; t < states.rows; ++t) states.go_on(alpha, t, alpha);
    return states.total(alpha);
  }
};

// Less the probability that the row is in a state of the class, given the labels.
template <class T>
class CtcGradient : public Ctc<T> {
 public:
  using Ctc<T>::Ctc;

  void run(void* const* tensors, void*, device::Device& device) override {
    auto* gradient = static_cast<T*>(tensors[4]);
    const auto* splits = static_cast<const std::int64_t*>(tensors[1]);
    this->for_each(
        "ctc_gradient", tensors, device, [](std::int64_t rows) { return rows + 1; },
        [&](std::int64_t i, const States<T>& states, double* memory) {
          T* rows = gradient + splits[i] * this->classes_;
          std::fill(rows, rows + states.rows * this->classes_, T{0});
          if (states.rows > 0) fill(states, memory, rows);
        });
  }

 private:
  // `memory` has alpha [rows, states] and one more row, for beta.
  static void fill(const States<T>& states, double* memory, T* gradient) {
    const std::int64_t size = states.size();
    const auto alpha = [&](std::int64_t t) { return memory + t * size; };
    states.begin(alpha(0));
    for (std::int64_t t = 1; t < states.rows; ++t) states.go_on(alpha(t - 1), t, alpha(t));
    const double total = states.total(alpha(states.rows - 1));
    if (total == kNever) return;
    double* beta = alpha(states.rows);
    states.end(beta);
    for (std::int64_t t = states.rows - 1; t >= 0; --t) {
      T* row = gradient + t * states.classes;
      for (std::int64_t s = 0; s < size; ++s) {
        T& sum = row[states.class_of(s)];
        sum = static_cast<T>(sum - std::exp(alpha(t)[s] + beta[s] - total));
      }
      states.go_back(t, beta);
    }
  }
};

template <template <class> class Kernel>
std::unique_ptr<KernelInstance> prepare(const char* kernel, const Call& call) {
  require_tensors(kernel, call, 5);
  const auto are_i64 = [&](std::size_t i) {
    return call.tensors[i].dtype == DType::i64 && call.tensors[i].shape.size() == 1;
  };
  if (call.tensors[0].shape.size() != 2 || !are_i64(1) || !are_i64(2) || !are_i64(3) ||
      call.tensors[1].shape[0] < 1 || call.tensors[1].shape != call.tensors[3].shape ||
      call.tensors[4].dtype != call.tensors[0].dtype) {
    fail_call(kernel, call, "it takes rows and labels, with splits of as many sequences");
  }
  const std::int64_t blank = integer(call, "blank", 0);
  if (blank < 0 || blank >= call.tensors[0].shape[1]) {
    fail_data(fmt::format("{}: the blank is class {}, but there are {} classes", kernel, blank,
                          call.tensors[0].shape[1]));
  }
  switch (call.tensors[0].dtype) {
    case DType::f32: return std::make_unique<Kernel<float>>(call);
    case DType::f64: return std::make_unique<Kernel<double>>(call);
    default: fail_call(kernel, call, "log-probabilities are f32 or f64");
  }
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_ctc(const Call& call) {
  return prepare<CtcLoss>("ctc", call);
}

std::unique_ptr<KernelInstance> prepare_ctc_gradient(const Call& call) {
  return prepare<CtcGradient>("ctc_gradient", call);
}

}  // namespace trireme::kernels
