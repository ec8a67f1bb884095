#pragma once

// How generate() makes one Program. Steps with blocks, of ragged sequences and of parameters are
// in generate_blocks.cc.

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "generate.h"
#include "ops/op.h"

namespace trireme::differential {

inline constexpr double kLargest = 1000;  // larger numbers are not operands of later steps

class Generator {
 public:
  explicit Generator(std::uint64_t seed);

  std::optional<Generated> make();

 private:
  using Values = std::vector<Value>;

  int below(std::size_t n) { return static_cast<int>(random_() % n); }
  int below(int n) { return below(static_cast<std::size_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  template <class T>
  const T& any(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(from.size()))];
  }

  // Each returns its results, and throws Error if a type rule or the evaluator refuses it.
  void step();
  Values op_step();
  Values control_step();
  Values recurrent_step();
  Values sequence_step();
  Values assign_step();

  // Ops of the catalog.
  Values apply(const ops::Op& op, const ops::Sample& sample, const std::vector<ir::Type>& types,
               const Attributes& attributes);
  std::vector<ir::Type> resized(const ops::Sample& sample);
  Attributes varied(Attributes attributes);

  // Operands.
  Value pick(const ir::Type& type, double low, double high);
  Value in_range(const Value& value, double low, double high);  // moved into [low, high)
  // A new input, or sometimes a parameter. Error(usage) if the type has a symbol of no size.
  Value fresh(const ir::Type& type, double low, double high);
  bool has_known_sizes(const ir::Type& type) const;
  Values pooled(DType dtype, const Shape& shape) const;  // values of this type

  // Blocks.
  Value chain(Value x);
  Value link(const Value& x);
  Value scalar_condition(const Value& x);
  Value condition(const Value& x);
  Value loop(const Value& x);
  Values scanned(const Value& x);
  Values rows_by_condition(const Value& x);
  // A function that computes each row of the result from the rows of `rows`, [n, width] each.
  Value row_link(const Values& rows, const Value& weight);

  // Rows of ragged sequences, f32 [words, width].
  Value ragged_rows(std::int64_t width);
  Value rows_of_sequences(const Value& x);
  Values new_sequences(const Value& x);

  // Results.
  void keep(const Values& results);
  void choose_fetches();
  void differentiate();
  void optimize(const Value& loss, const Values& parameters);

  std::mt19937_64 random_;
  Generated generated_;
  SymbolSizes sizes_;
  bool has_sequences_ = false;  // whether there is an input with the splits of "words"
  Values pool_;                 // operands of later steps
  Values results_;              // of ops
};

}  // namespace trireme::differential
