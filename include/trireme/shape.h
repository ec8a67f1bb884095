#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/export.h"

namespace trireme {

// The sizes that the symbols of a Program take in one run: {"batch": 64}.
using SymbolSizes = std::map<std::string, std::int64_t, std::less<>>;

// One dimension of a shape: a number, a symbol whose size is known only when the Program runs, or
// a polynomial of symbols with integer coefficients such as `2*batch + 1` or `batch*width`. Kept in
// a canonical form, so that two Dims are equal exactly when they are equal for all sizes.
class TRIREME_API Dim {
 public:
  Dim() = default;  // 0
  template <std::integral T>
  Dim(T size) : Dim(Number{static_cast<std::int64_t>(size)}) {}  // NOLINT: a number is a Dim
  explicit Dim(std::string_view symbol);  // letters, digits, '_'; starts with a letter

  bool is_constant() const;
  std::int64_t constant() const;              // precondition: is_constant()
  std::optional<std::string> symbol() const;  // its name, if the Dim is one plain symbol
  std::vector<std::string> symbols() const;   // all that occur, sorted

  // The size under `sizes`. Throws Error(usage) if a symbol is missing or the size is out of range.
  std::int64_t evaluate(const SymbolSizes& sizes) const;

  // The quotient if `divisor` divides this Dim exactly for every size of the symbols.
  std::optional<Dim> divided_by(const Dim& divisor) const;

  std::string str() const;  // "2*batch + 1"
  static std::optional<Dim> parse(std::string_view text);

  // Numbers beyond 2^62 and polynomials of absurd length throw Error(usage).
  friend TRIREME_API Dim operator+(const Dim& a, const Dim& b);
  friend TRIREME_API Dim operator-(const Dim& a, const Dim& b);
  friend TRIREME_API Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b) { return a.terms_ == b.terms_; }
  friend bool operator!=(const Dim& a, const Dim& b) { return !(a == b); }

  // Products of symbols with their coefficients, longer products first, then by name; no zero
  // coefficients; the constant term has no symbols. Read by code that turns a Dim into
  // instructions.
  using Monomial = std::vector<std::string>;
  const std::vector<std::pair<Monomial, std::int64_t>>& terms() const { return terms_; }

 private:
  struct Number {
    std::int64_t value;
  };
  explicit Dim(Number number);
  void add_term(const Monomial& monomial, std::int64_t coefficient);

  std::vector<std::pair<Monomial, std::int64_t>> terms_;
};

// The customary symbol of the first dimension.
inline const Dim batch{std::string_view("batch")};

using Shape = std::vector<Dim>;

TRIREME_API std::string str(const Shape& shape);  // "[batch, 1, 28, 28]"
TRIREME_API Dim product(const Shape& shape);      // number of elements
TRIREME_API std::vector<std::int64_t> evaluate(const Shape& shape, const SymbolSizes& sizes);
TRIREME_API bool is_constant(const Shape& shape);

}  // namespace trireme
