// Einstein's summation: operands are multiplied from left to right. Each product is a matrix
// product over the letters that both have and nothing later needs, or an elementwise product.

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>

#include "nn/axes.h"
#include "trireme/functions.h"
#include "trireme/indexing.h"
#include "trireme/linalg.h"

namespace trireme {
namespace {

// An axis: a letter, or a number above all letters for an axis of "...", counted from its end.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = -1;  // before it is known which axes it stands for
constexpr Label kFirstOfEllipsis = 256;

struct Term {
  Value value;
  Labels labels;
};

bool has(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

class Einsum {
 public:
  Einsum(std::string_view equation, const std::vector<Value>& operands)
      : equation_(equation), operands_(operands) {}

  Value result() {
    parse();
    broadcast_ones();
    Term total = terms_[0];
    for (std::size_t i = 1; i < terms_.size(); ++i) {
      std::set<Label> later(output_.begin(), output_.end());
      for (std::size_t j = i + 1; j < terms_.size(); ++j) {
        later.insert(terms_[j].labels.begin(), terms_[j].labels.end());
      }
      total = product(total, terms_[i], later);
    }
    total = summed(total, [&](Label label) { return !has(output_, label); });
    return in_order(total, output_).value;
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& hint = "") const {
    nn::fail_layer("einsum", what + " in \"" + equation_ + "\"", hint, operands_[0]);
  }

  Labels parse_labels(std::string_view text) const {
    Labels labels;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c == ' ') continue;
      if (std::isalpha(c) != 0 && c < 128) {
        labels.push_back(c);
      } else if (text.substr(i, 3) == "..." && !has(labels, kEllipsis)) {
        labels.push_back(kEllipsis);
        i += 2;
      } else {
        refuse("\"" + std::string(1, text[i]) + "\" is not expected",
               "letters name axes, \"...\" stands for further axes, commas separate operands");
      }
    }
    return labels;
  }

  // Replaces kEllipsis by one label for each of `count` axes.
  static Labels expanded(const Labels& labels, std::size_t count) {
    Labels result;
    for (const Label label : labels) {
      if (label != kEllipsis) result.push_back(label);
      for (std::size_t i = count; label == kEllipsis && i > 0; --i) {
        result.push_back(kFirstOfEllipsis + static_cast<Label>(i) - 1);
      }
    }
    return result;
  }

  void parse() {
    const std::size_t arrow = equation_.find("->");
    std::string_view inputs = std::string_view(equation_).substr(0, arrow);
    for (std::size_t i = 0;; ++i) {
      const std::size_t comma = inputs.find(',');
      const Labels labels = parse_labels(inputs.substr(0, comma));
      if (i < operands_.size()) add_term(operands_[i], labels);
      if (comma == std::string_view::npos) {
        if (i + 1 == operands_.size()) break;
        refuse(std::to_string(i + 1) + " terms for " + std::to_string(operands_.size()) +
               " operands");
      }
      inputs.remove_prefix(comma + 1);
    }
    if (arrow == std::string::npos) {
      implicit_output();
    } else {
      explicit_output(parse_labels(std::string_view(equation_).substr(arrow + 2)));
    }
  }

  void add_term(const Value& x, const Labels& labels) {
    const bool open = has(labels, kEllipsis);
    const std::size_t named = labels.size() - (open ? 1 : 0), rank = x.shape().size();
    if (open ? named > rank : named != rank) {
      refuse(std::to_string(named) + " letters for " + x.str());
    }
    if (x.dtype() != operands_[0].dtype() || x.dtype() == DType::boolean) {
      refuse("the operands need one numeric dtype: " + operands_[0].str() + ", " + x.str());
    }
    if (open) further_ = std::max(further_, rank - named);
    terms_.push_back(diagonals({x, expanded(labels, rank - named)}));
  }

  void implicit_output() {
    std::map<Label, int> uses;
    for (const Term& term : terms_) {
      for (const Label label : term.labels) ++uses[label];
    }
    output_ = expanded({kEllipsis}, further_);
    for (const auto& [label, count] : uses) {
      const bool once = count == 1 && !repeated_.contains(label);
      if (label < kFirstOfEllipsis && once) output_.push_back(label);
    }
  }

  void explicit_output(const Labels& labels) {
    if (further_ > 0 && !has(labels, kEllipsis)) {
      refuse("the result lacks \"...\"", "write it where its axes belong, or sum them afterwards");
    }
    output_ = expanded(labels, further_);
    for (const Label label : output_) {
      if (std::count(output_.begin(), output_.end(), label) > 1) {
        refuse("the result has the letter " + std::string(1, static_cast<char>(label)) + " twice");
      }
      const bool known = std::any_of(terms_.begin(), terms_.end(),
                                     [&](const Term& term) { return has(term.labels, label); });
      if (!known) {
        refuse("no operand has the letter " + std::string(1, static_cast<char>(label)));
      }
    }
  }

  // Replaces axes of one label by their diagonal.
  Term diagonals(Term term) {
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      for (std::size_t j = i + 1; j < term.labels.size(); ++j) {
        const Label label = term.labels[i];
        if (term.labels[j] != label) continue;
        const Value& x = term.value;
        if (x.shape()[i] != x.shape()[j]) {
          refuse("the axes " + std::string(1, static_cast<char>(label)) + " of " + x.str() +
                 " differ");
        }
        repeated_.insert(label);
        std::vector<std::int64_t> order;
        Labels rest;
        for (std::size_t k = 0; k < term.labels.size(); ++k) {
          if (k == i || k == j) continue;
          order.push_back(static_cast<std::int64_t>(k));
          rest.push_back(term.labels[k]);
        }
        order.push_back(static_cast<std::int64_t>(i));
        order.push_back(static_cast<std::int64_t>(j));
        rest.push_back(label);
        return diagonals({diagonal(transpose(x, {.permutation = order})), rest});
      }
    }
    return term;
  }

  // Removes axes of size 1 whose label has another size elsewhere.
  void broadcast_ones() {
    std::map<Label, Dim> sizes;
    for (const Term& term : terms_) {
      for (std::size_t i = 0; i < term.labels.size(); ++i) {
        const Dim& size = term.value.shape()[i];
        const auto [place, is_new] = sizes.emplace(term.labels[i], size);
        if (is_new || place->second == size || size == Dim(1)) continue;
        if (place->second != Dim(1)) {
          const std::string axis =
              term.labels[i] < kFirstOfEllipsis
                  ? "letter " + std::string(1, static_cast<char>(term.labels[i]))
                  : "\"...\"";
          refuse(axis + " has the sizes " + place->second.str() + " and " + size.str());
        }
        place->second = size;
      }
    }
    for (Term& term : terms_) {
      Term kept{term.value, {}};
      std::vector<std::int64_t> dropped;
      for (std::size_t i = 0; i < term.labels.size(); ++i) {
        if (term.value.shape()[i] == sizes[term.labels[i]]) {
          kept.labels.push_back(term.labels[i]);
        } else {
          dropped.push_back(static_cast<std::int64_t>(i));
        }
      }
      if (!dropped.empty()) term = {squeeze(term.value, dropped), kept.labels};
    }
  }

  template <class Predicate>
  static Term summed(const Term& term, const Predicate& is_summed) {
    Labels kept;
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      if (is_summed(term.labels[i])) axes.push_back(static_cast<std::int64_t>(i));
      else kept.push_back(term.labels[i]);
    }
    return axes.empty() ? term : Term{sum(term.value, {.axes = axes}), kept};
  }

  // Returns the term with its axes in this order.
  static Term in_order(const Term& term, const Labels& order) {
    if (term.labels == order) return term;
    std::vector<std::int64_t> permutation;
    for (const Label label : order) {
      const auto place = std::find(term.labels.begin(), term.labels.end(), label);
      permutation.push_back(place - term.labels.begin());
    }
    return {transpose(term.value, {.permutation = permutation}), order};
  }

  static Shape sizes_of(const Term& term, const Labels& labels) {
    Shape shape;
    for (const Label label : labels) {
      const auto place = std::find(term.labels.begin(), term.labels.end(), label);
      shape.push_back(term.value.shape()[static_cast<std::size_t>(place - term.labels.begin())]);
    }
    return shape;
  }

  static Labels joined(const Labels& a, const Labels& b, const Labels& c = {}) {
    Labels result = a;
    result.insert(result.end(), b.begin(), b.end());
    result.insert(result.end(), c.begin(), c.end());
    return result;
  }

  // Multiplies two terms and sums over what is not needed later.
  static Term product(const Term& left, const Term& right, const std::set<Label>& later) {
    const Term a =
        summed(left, [&](Label l) { return !later.contains(l) && !has(right.labels, l); });
    const Term b = summed(right, [&](Label l) { return !later.contains(l) && !has(a.labels, l); });
    Labels both, contracted, rows, columns;
    for (const Label l : a.labels) {
      (!has(b.labels, l) ? rows : later.contains(l) ? both : contracted).push_back(l);
    }
    for (const Label l : b.labels) {
      if (!has(a.labels, l)) columns.push_back(l);
    }
    const bool by_matmul = !contracted.empty() && is_arithmetic_float(a.value.dtype());
    return by_matmul ? matrix_product(a, b, both, rows, contracted, columns)
                     : elementwise_product(a, b, both, rows, contracted, columns);
  }

  static Term matrix_product(const Term& a, const Term& b, const Labels& both, const Labels& rows,
                             const Labels& contracted, const Labels& columns) {
    const Shape batches = sizes_of(a, both);
    const Dim m = trireme::product(sizes_of(a, rows)),
              k = trireme::product(sizes_of(a, contracted)),
              n = trireme::product(sizes_of(b, columns));
    Shape left = batches, right = batches, shape = batches;
    left.insert(left.end(), {m, k});
    right.insert(right.end(), {k, n});
    const Value x = reshape(in_order(a, joined(both, rows, contracted)).value, {.shape = left});
    const Value y = reshape(in_order(b, joined(both, contracted, columns)).value, {.shape = right});
    for (const Dim& size : sizes_of(a, rows)) shape.push_back(size);
    for (const Dim& size : sizes_of(b, columns)) shape.push_back(size);
    return {reshape(matmul(x, y), {.shape = shape}), joined(both, rows, columns)};
  }

  static Term elementwise_product(const Term& a, const Term& b, const Labels& both,
                                  const Labels& rows, const Labels& contracted,
                                  const Labels& columns) {
    // a [both, rows, 1..., contracted] times b [both, 1..., columns, contracted].
    Shape left = sizes_of(a, joined(both, rows)), right = sizes_of(b, both);
    left.resize(left.size() + columns.size(), 1);
    right.resize(right.size() + rows.size(), 1);
    for (const Dim& size : sizes_of(a, contracted)) left.push_back(size);
    for (const Dim& size : sizes_of(b, joined(columns, contracted))) right.push_back(size);
    const Value x = reshape(in_order(a, joined(both, rows, contracted)).value, {.shape = left});
    const Value y = reshape(in_order(b, joined(both, columns, contracted)).value, {.shape = right});
    const Labels kept = joined(both, rows, columns);
    return summed({x * y, joined(kept, contracted)}, [&](Label l) { return !has(kept, l); });
  }

  std::string equation_;
  const std::vector<Value>& operands_;
  std::vector<Term> terms_;
  Labels output_;
  std::set<Label> repeated_;  // within one operand
  std::size_t further_ = 0;   // axes of "..."
};

}  // namespace

Value einsum(std::string_view equation, const std::vector<Value>& operands, SourceLocation where) {
  static const Value none;
  const nn::LocationScope at(operands.empty() ? none : operands.front(), "einsum", where);
  for (const Value& operand : operands) const nn::LocationScope at_this(operand, "einsum", where);
  return Einsum(equation, operands).result();
}

}  // namespace trireme
