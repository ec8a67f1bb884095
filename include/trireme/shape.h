#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/export.h"

namespace trireme {

// The sizes of a Program's symbols in one run: {"batch": 64}.
using SymbolSizes = std::map<std::string, std::int64_t, std::less<>>;

// One dimension of a shape: a number, a symbol whose size is known only at run time, or a
// polynomial of symbols with integer coefficients such as `2*batch + 1` or `batch*width`. Stored in
// a canonical form: two Dims are equal exactly if they have the same size for all sizes of their
// symbols.
class TRIREME_API Dim {
 public:
  Dim() = default;  // 0
  template <std::integral T>
  Dim(T size) : Dim(Number{static_cast<std::int64_t>(size)}) {}  // NOLINT: a number is a Dim
  explicit Dim(std::string_view symbol);  // letters, digits, '_'; starts with a letter

  bool is_constant() const { return terms_.empty(); }
  std::int64_t constant() const;              // precondition: is_constant()
  std::optional<std::string> symbol() const;  // its name, if the Dim is a single symbol
  std::vector<std::string> symbols() const;   // all symbols in it, sorted

  // The size for these sizes of the symbols. Errors: usage, if a symbol is missing or the size is
  // out of range.
  std::int64_t evaluate(const SymbolSizes& sizes) const;

  // Returns the quotient if `divisor` divides this Dim exactly for every size of the symbols.
  std::optional<Dim> divided_by(const Dim& divisor) const;

  std::string str() const;  // "2*batch + 1"
  static std::optional<Dim> parse(std::string_view text);

  // These throw Error(usage) for numbers above 2^62 and for polynomials with too many terms.
  friend TRIREME_API Dim operator+(const Dim& a, const Dim& b);
  friend TRIREME_API Dim operator-(const Dim& a, const Dim& b);
  friend TRIREME_API Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b) {
    return a.constant_ == b.constant_ && a.terms_ == b.terms_;
  }
  friend bool operator!=(const Dim& a, const Dim& b) { return !(a == b); }

  // Products of symbols with their coefficients: longer products first, then by name. No
  // coefficient is zero; the constant term has no symbols. For code that translates a Dim into
  // instructions.
  using Monomial = std::vector<std::string>;
  std::vector<std::pair<Monomial, std::int64_t>> terms() const;

 private:
  struct Number {
    std::int64_t value;
  };
  explicit Dim(Number number);
  bool is_zero() const { return constant_ == 0 && terms_.empty(); }
  std::pair<Monomial, std::int64_t> leading_term() const;  // precondition: not zero
  void add_term(const Monomial& monomial, std::int64_t coefficient);

  // Apart from the other terms, so that a number, which most Dims are, needs no further memory.
  std::int64_t constant_ = 0;
  std::vector<std::pair<Monomial, std::int64_t>> terms_;  // without the constant term
};

// The usual symbol for the first dimension.
inline const Dim batch{std::string_view("batch")};

using Shape = std::vector<Dim>;

TRIREME_API std::string str(const Shape& shape);  // "[batch, 1, 28, 28]"
TRIREME_API std::ostream& operator<<(std::ostream& out, const Shape& shape);  // str()
TRIREME_API std::ostream& operator<<(std::ostream& out, const Dim& dim);      // Dim::str()
TRIREME_API Dim product(const Shape& shape);                                  // number of elements
TRIREME_API std::vector<std::int64_t> evaluate(const Shape& shape, const SymbolSizes& sizes);
TRIREME_API bool is_constant(const Shape& shape);

}  // namespace trireme
