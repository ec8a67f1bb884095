#pragma once

// Immediate mode: arrays as in NumPy, without a Program and a Session of one's own.
//
//   Array x = Tensor::from<float>({3}, {1, 2, 3});
//   Array y = exp(x) * 2.0;
//   std::cout << y;
//   auto [loss, gradients] = value_and_grad([&](const Array& w) { return mean(w * x); })(y);
//
// Functions of Values take Arrays and record their ops. These are compiled and run when an element
// is needed: by tensor(), item(), eval() or printing, and at the end of grad(). One run computes
// all Arrays that still exist. Compiled code is kept by the structure of the ops, so a loop
// compiles its body once; a number that differs from call to call is compiled once more, as an
// input.
//
// A function returns a Value, which is valid until the run after the next: keep results as `Array`,
// not as `auto`. Layers with parameters are an error: they need a Program.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/tensor.h"

namespace trireme {

struct ArrayNode;

// A Tensor, or one that is not computed yet. Immutable; a copy is another handle. Until it is
// computed, only the thread that made it may use it; afterwards, all threads.
class TRIREME_API Array {
 public:
  Array();                    // f32[0]
  Array(Tensor tensor);       // NOLINT: shares the memory, which must not change any more
  Array(const Value& value);  // NOLINT: what a function of Arrays returns. Errors: usage, for a
                              // Value of a Program, or of a run that is over

  DType dtype() const;
  // The sizes. Computes the Array if they depend on its elements.
  std::vector<std::int64_t> shape() const;
  int rank() const;
  std::int64_t elements() const;
  bool is_computed() const;

  // Computes this Array, and with it all others of this thread. Errors: those of its ops; usage,
  // for an Array of another thread, and inside of jit() and of functions of control flow.
  const Array& eval() const;
  Tensor tensor() const;  // computes; shares the memory
  // The only element. Errors: as in Tensor.
  template <class T>
  T item() const {
    return tensor().item<T>();
  }
  template <class T>
  std::vector<T> to_vector() const {
    return tensor().to_vector<T>();
  }
  std::string str() const;  // the elements, as Tensor::str()

  // The operand of functions of Values.
  Value value() const;
  operator Value() const { return value(); }  // NOLINT

  Array& operator+=(const Operand& other) { return *this = Array(Operand(value()) + other); }
  Array& operator-=(const Operand& other) { return *this = Array(Operand(value()) - other); }
  Array& operator*=(const Operand& other) { return *this = Array(Operand(value()) * other); }
  Array& operator/=(const Operand& other) { return *this = Array(Operand(value()) / other); }

  explicit Array(std::shared_ptr<ArrayNode> node) : node_(std::move(node)) {}
  const std::shared_ptr<ArrayNode>& node() const { return node_; }

 private:
  std::shared_ptr<ArrayNode> node_;
};

TRIREME_API std::ostream& operator<<(std::ostream& out, const Array& array);  // str()

// Computes all Arrays of this thread that still exist.
TRIREME_API void eval_all();

// Restarts the random numbers of this thread's Arrays. Each run that follows has others.
TRIREME_API void set_array_seed(std::uint64_t seed);

// The Program that records the Arrays of this thread, for functions that take a Program:
// Array x = random_normal(array_program(), {.shape = {3, 4}});
TRIREME_API Program array_program();

// Whether a Value is recorded by the Program of Arrays, and an Array can be made of it.
TRIREME_API bool is_array(const Value& value);

// While it lives, runs leave the recording as it is, so that all its Values stay valid. For code
// that keeps Values while it calls functions of others.
class TRIREME_API KeepRecording {
 public:
  KeepRecording();
  ~KeepRecording();
  KeepRecording(const KeepRecording&) = delete;
  KeepRecording& operator=(const KeepRecording&) = delete;

 private:
  std::shared_ptr<void> trace_;
};

// How often this thread has compiled for Arrays, and how often it ran.
struct ArrayStatistics {
  std::int64_t compiled = 0, runs = 0, kernels = 0;  // kernels: of the last run
};
TRIREME_API ArrayStatistics array_statistics();

// --- Gradients --------------------------------------------------------------------------------

using ArrayFunction = std::function<Array(const std::vector<Array>&)>;
using ArraysFunction = std::function<std::vector<Array>(const std::vector<Array>&)>;

struct ValueAndGradients {
  Array value;
  std::vector<Array> gradients;  // of the arguments, with their dtypes and shapes
};
// Calls f and returns its result, a float scalar, and its gradients with respect to `arguments`,
// which are f32 or f64. f may read elements of Arrays and branch on them; what it has read is
// computed again with the gradients. f may call this function itself: gradients of gradients.
// Errors: as gradients() of trireme/gradients.h.
TRIREME_API ValueAndGradients value_and_gradients(const ArrayFunction& f,
                                                  const std::vector<Array>& arguments,
                                                  SourceLocation where = SourceLocation::current());

namespace internal {
template <class F, std::size_t... I>
Array call_with(const F& f, const std::vector<Array>& arguments, std::index_sequence<I...>) {
  return Array(f(arguments[I]...));
}
template <class F, std::size_t... I>
std::vector<Array> call_for_all(const F& f, const std::vector<Array>& arguments,
                                std::index_sequence<I...>) {
  return {Array(f(arguments[I]...))};
}
template <std::size_t... I>
auto as_array(std::vector<Array> found, std::index_sequence<I...>) {
  return std::array<Array, sizeof...(I)>{std::move(found[I])...};
}
}  // namespace internal

// value_and_grad(f)(x, y ...) is a pair: f(x, y ...) and a std::array of one gradient for each
// argument.
template <class F>
auto value_and_grad(F f, SourceLocation where = SourceLocation::current()) {
  return [f = std::move(f), where](const auto&... arguments) {
    constexpr auto kAll = std::make_index_sequence<sizeof...(arguments)>();
    ValueAndGradients found = value_and_gradients(
        [&](const std::vector<Array>& given) { return internal::call_with(f, given, kAll); },
        {Array(arguments)...}, where);
    return std::pair(std::move(found.value), internal::as_array(std::move(found.gradients), kAll));
  };
}

// grad(f)(x) is the gradient of f with respect to x; with more arguments, a std::array of them.
template <class F>
auto grad(F f, SourceLocation where = SourceLocation::current()) {
  return [both = value_and_grad(std::move(f), where)](const auto&... arguments) {
    auto gradients = both(arguments...).second;
    if constexpr (sizeof...(arguments) == 1) return gradients[0];
    else return gradients;
  };
}

// --- One compilation for a whole function -----------------------------------------------------

// A function that is recorded once for each list of dtypes and shapes of its arguments, and then
// only run. Whatever else the function uses keeps the value of the recording. While it is recorded,
// reading elements of an Array that depends on the arguments is an error: use where(), if_else()
// and while_loop(). Inside of value_and_gradients() and of another Jit, the function is called
// directly. One thread at a time may use a Jit.
class TRIREME_API Jit {
 public:
  explicit Jit(ArraysFunction f);
  ~Jit();
  Jit(Jit&&) noexcept;
  Jit& operator=(Jit&&) noexcept;
  std::vector<Array> operator()(const std::vector<Array>& arguments);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// jit(f) is a function with the arguments of f, which returns one Array.
template <class F>
auto jit(F f) {
  return [f = std::move(f), made = std::shared_ptr<Jit>()](const auto&... arguments) mutable {
    if (made == nullptr) {
      made = std::make_shared<Jit>([f](const std::vector<Array>& given) {
        return internal::call_for_all(f, given, std::make_index_sequence<sizeof...(arguments)>());
      });
    }
    return (*made)({Array(arguments)...}).front();
  };
}

}  // namespace trireme
