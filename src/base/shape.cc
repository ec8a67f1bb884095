#include "trireme/shape.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"

namespace trireme {
namespace {

// Bounds that no sensible network meets; they keep arithmetic exact and work bounded whatever a
// text file says.
constexpr std::int64_t kLargest = std::int64_t{1} << 62;
constexpr std::size_t kMaxTerms = 64;
constexpr std::size_t kMaxFactors = 32;
constexpr int kMaxDivisionSteps = 256;

using Term = std::pair<Dim::Monomial, std::int64_t>;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_symbol(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

[[noreturn]] void fail_range() {
  fail_usage("a dimension is out of range: sizes must stay below 2^62");
}

std::int64_t checked(std::int64_t value) {
  if (value > kLargest || value < -kLargest) fail_range();
  return value;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) fail_range();
  return checked(result);
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) fail_range();
  return checked(result);
}

// Graded lexicographic order, greatest first: it is kept by multiplication, which division needs.
bool before(const Dim::Monomial& a, const Dim::Monomial& b) {
  if (a.size() != b.size()) return a.size() > b.size();
  return a < b;
}

Dim::Monomial joined(const Dim::Monomial& a, const Dim::Monomial& b) {
  Dim::Monomial result;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  if (result.size() > kMaxFactors) fail_usage("a dimension multiplies more than 32 symbols");
  return result;
}

std::string text_of(const Dim::Monomial& monomial, std::int64_t magnitude) {
  std::string text;
  if (magnitude != 1 || monomial.empty()) text = std::to_string(magnitude);
  for (const std::string& symbol : monomial) {
    if (!text.empty()) text += '*';
    text += symbol;
  }
  return text;
}

}  // namespace

Dim::Dim(Number number) : constant_(checked(number.value)) {}

Dim::Dim(std::string_view symbol) {
  if (!is_symbol(symbol)) {
    fail_usage("'" + std::string(symbol) +
               "' is no name for a dimension: use letters, digits and '_', a letter first");
  }
  terms_ = {{{std::string(symbol)}, 1}};
}

std::int64_t Dim::constant() const {
  if (!is_constant()) fail_internal("dimension " + str() + " is used as a number");
  return constant_;
}

std::vector<Term> Dim::terms() const {
  std::vector<Term> all = terms_;
  if (constant_ != 0) all.push_back({{}, constant_});
  return all;
}

Term Dim::leading_term() const { return terms_.empty() ? Term{{}, constant_} : terms_.front(); }

std::optional<std::string> Dim::symbol() const {
  if (terms_.size() != 1 || constant_ != 0 || terms_[0].second != 1 || terms_[0].first.size() != 1)
    return {};
  return terms_[0].first[0];
}

std::vector<std::string> Dim::symbols() const {
  std::vector<std::string> result;
  for (const Term& term : terms_) {
    result.insert(result.end(), term.first.begin(), term.first.end());
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::int64_t Dim::evaluate(const SymbolSizes& sizes) const {
  std::int64_t total = constant_;
  for (const auto& [monomial, coefficient] : terms_) {
    std::int64_t value = coefficient;
    for (const std::string& symbol : monomial) {
      const auto found = sizes.find(symbol);
      if (found == sizes.end()) fail_usage("the size of dimension '" + symbol + "' is not known");
      value = times(value, found->second);
    }
    total = sum(total, value);
  }
  return total;
}

void Dim::add_term(const Monomial& monomial, std::int64_t coefficient) {
  if (monomial.empty()) {
    constant_ = sum(constant_, coefficient);
    return;
  }
  const auto at =
      std::lower_bound(terms_.begin(), terms_.end(), monomial,
                       [](const Term& t, const Monomial& m) { return before(t.first, m); });
  if (at != terms_.end() && at->first == monomial) {
    at->second = sum(at->second, coefficient);
    if (at->second == 0) terms_.erase(at);
    return;
  }
  if (checked(coefficient) == 0) return;
  if (terms_.size() == kMaxTerms) fail_usage("a dimension has more than 64 terms");
  terms_.insert(at, {monomial, coefficient});
}

Dim operator+(const Dim& a, const Dim& b) {
  Dim result = a;
  result.constant_ = sum(a.constant_, b.constant_);
  for (const auto& [monomial, coefficient] : b.terms_) result.add_term(monomial, coefficient);
  return result;
}

Dim operator-(const Dim& a, const Dim& b) {
  Dim result = a;
  result.constant_ = sum(a.constant_, -b.constant_);
  for (const auto& [monomial, coefficient] : b.terms_) result.add_term(monomial, -coefficient);
  return result;
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return times(a.constant_, b.constant_);
  Dim result;
  for (const Term& x : a.terms()) {
    for (const Term& y : b.terms()) {
      result.add_term(joined(x.first, y.first), times(x.second, y.second));
    }
  }
  return result;
}

std::optional<Dim> Dim::divided_by(const Dim& divisor) const {
  if (divisor.is_zero()) return std::nullopt;
  const auto [lead, lead_coefficient] = divisor.leading_term();
  Dim rest = *this;
  Dim quotient;
  for (int step = 0; !rest.is_zero(); ++step) {
    if (step == kMaxDivisionSteps) return std::nullopt;
    const auto [monomial, coefficient] = rest.leading_term();
    if (coefficient % lead_coefficient != 0) return std::nullopt;
    if (!std::includes(monomial.begin(), monomial.end(), lead.begin(), lead.end())) {
      return std::nullopt;
    }
    Dim part;
    Monomial difference;
    std::set_difference(monomial.begin(), monomial.end(), lead.begin(), lead.end(),
                        std::back_inserter(difference));
    part.add_term(difference, coefficient / lead_coefficient);
    try {
      quotient = quotient + part;
      rest = rest - part * divisor;
    } catch (const Error&) {
      return std::nullopt;  // intermediate terms out of range: not divisible in any useful sense
    }
  }
  return quotient;
}

std::string Dim::str() const {
  if (is_constant()) return std::to_string(constant_);
  std::string text;
  for (const auto& [monomial, coefficient] : terms()) {
    if (text.empty()) {
      if (coefficient < 0) text = "-";
    } else {
      text += coefficient < 0 ? " - " : " + ";
    }
    text += text_of(monomial, coefficient < 0 ? -coefficient : coefficient);
  }
  return text;
}

namespace {

// sum := ['-'] product (('+' | '-') product)*;  product := factor ('*' factor)*
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  std::optional<Dim> parse() {
    Dim total;
    bool negative = accept('-');
    while (true) {
      const std::optional<Dim> product = parse_product();
      if (!product) return std::nullopt;
      total = negative ? total - *product : total + *product;
      if (at_end()) return total;
      negative = accept('-');
      if (!negative && !accept('+')) return std::nullopt;
    }
  }

 private:
  bool at_end() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
    return position_ == text_.size();
  }

  bool accept(char c) {
    if (at_end() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  std::optional<Dim> parse_product() {
    Dim product = 1;
    do {
      const std::optional<Dim> factor = parse_factor();
      if (!factor) return std::nullopt;
      product = product * *factor;
    } while (accept('*'));
    return product;
  }

  std::optional<Dim> parse_factor() {
    if (at_end()) return std::nullopt;
    const std::size_t begin = position_;
    while (position_ < text_.size() &&
           (is_letter(text_[position_]) || is_digit(text_[position_]) || text_[position_] == '_')) {
      ++position_;
    }
    const std::string_view word = text_.substr(begin, position_ - begin);
    if (is_symbol(word)) return Dim(word);
    if (word.empty() || !is_digit(word[0])) return std::nullopt;
    const std::optional<std::int64_t> number = parse_integer(word);
    return number ? std::optional<Dim>(*number) : std::nullopt;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

std::optional<Dim> Dim::parse(std::string_view text) {
  try {
    return DimParser(text).parse();
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string str(const Shape& shape) {
  std::string text = "[";
  for (const Dim& dim : shape) {
    if (text.size() > 1) text += ", ";
    text += dim.str();
  }
  return text + "]";
}

Dim product(const Shape& shape) {
  Dim result = 1;
  for (const Dim& dim : shape) result = result * dim;
  return result;
}

std::vector<std::int64_t> evaluate(const Shape& shape, const SymbolSizes& sizes) {
  std::vector<std::int64_t> result;
  result.reserve(shape.size());
  for (const Dim& dim : shape) result.push_back(dim.evaluate(sizes));
  return result;
}

bool is_constant(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_constant(); });
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << str(shape); }
std::ostream& operator<<(std::ostream& out, const Dim& dim) { return out << dim.str(); }

}  // namespace trireme
