#include "base/feeds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "base/error.h"

namespace trireme {
namespace {

[[noreturn]] void fail_unknown(const std::string& owner, const std::vector<InputView>& inputs,
                               const std::string& name) {
  std::vector<std::string> names;
  for (const InputView& input : inputs) names.push_back(*input.name);
  const std::string near = nearest(name, names);
  fail_usage(fmt::format("feed \"{}\": {} has no input of that name{}\n  inputs  {}", name, owner,
                         near.empty() ? "" : "; did you mean \"" + near + "\"?",
                         names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

[[noreturn]] void fail_mismatch(const InputView& input, const FeedView& feed,
                                const std::string& hint) {
  fail_usage(fmt::format("feed \"{}\" is {}[{}], but the input is {}{}\n  hint   {}", *input.name,
                         name_of(feed.dtype), fmt::join(*feed.shape, ", "), name_of(input.dtype),
                         str(*input.shape), hint));
}

// Whether the input without its axis `left_out` has the sizes of the feed. Symbols fit any size.
bool fits_without(const Shape& input, std::size_t left_out, const std::vector<std::int64_t>& feed) {
  for (std::size_t i = 0; i < feed.size(); ++i) {
    const Dim& dim = input[i < left_out ? i : i + 1];
    if (dim.is_constant() && dim.constant() != feed[i]) return false;
  }
  return true;
}

// What to do about a feed with the wrong number of axes. If exactly one axis of the input may be
// missing, names it.
std::string rank_hint(const InputView& input, const FeedView& feed) {
  const Shape& wanted = *input.shape;
  if (feed.shape->size() + 1 == wanted.size()) {
    for (std::size_t axis = wanted.size(); axis-- > 0;) {
      const bool is_one = axis == 0 ? !wanted[0].is_constant() : wanted[axis] == Dim(1);
      if (!is_one || !fits_without(wanted, axis, *feed.shape)) continue;
      std::vector<std::int64_t> shape = *feed.shape;
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
      return fmt::format("{} needs axis {} of size 1: tensor.reshaped({{{}}})",
                         axis == 0 ? "one example" : "the input", axis, fmt::join(shape, ", "));
    }
  }
  return fmt::format("it needs {} axes", wanted.size());
}

void check_form(const InputView& input, const FeedView& feed) {
  if (feed.dtype != input.dtype) {
    fail_mismatch(input, feed,
                  fmt::format("convert it: tensor.cast(trireme::{})", name_of(input.dtype)));
  }
  if (feed.shape->size() != input.shape->size()) fail_mismatch(input, feed, rank_hint(input, feed));
}

const InputView* find_input(const std::vector<InputView>& inputs, const std::string& name) {
  for (const InputView& input : inputs) {
    if (*input.name == name) return &input;
  }
  return nullptr;
}

void bind_symbol(const std::string& symbol, std::int64_t size, const std::string& feed,
                 SymbolSizes& sizes, std::map<std::string, std::string>& given_by) {
  const auto [known, is_new] = sizes.emplace(symbol, size);
  if (is_new) given_by[symbol] = feed;
  else if (known->second != size) {
    fail_usage(fmt::format("feed \"{}\": {} is {} here, but {} in feed \"{}\"", feed, symbol, size,
                           known->second, given_by[symbol]));
  }
}

}  // namespace

std::optional<std::pair<std::string, std::int64_t>> implied_size(const Dim& dim,
                                                                 std::int64_t size) {
  std::optional<std::string> symbol;
  std::int64_t factor = 0;
  for (const auto& [monomial, coefficient] : dim.terms()) {
    if (monomial.empty()) {
      if (__builtin_sub_overflow(size, coefficient, &size)) return std::nullopt;
    } else if (symbol || monomial.size() > 1) {
      return std::nullopt;
    } else {
      symbol = monomial[0];
      factor = coefficient;
    }
  }
  if (!symbol || (factor == -1 && size == INT64_MIN) || size % factor != 0) return std::nullopt;
  return std::pair(*symbol, size / factor);
}

SymbolSizes bind_feeds(const std::string& owner, const std::vector<InputView>& inputs,
                       const std::vector<FeedView>& feeds) {
  SymbolSizes sizes;
  std::map<std::string, std::string> given_by;
  for (const FeedView& feed : feeds) {
    const InputView* input = find_input(inputs, *feed.name);
    if (input == nullptr) fail_unknown(owner, inputs, *feed.name);
    check_form(*input, feed);
    for (std::size_t axis = 0; axis < feed.shape->size(); ++axis) {
      const std::int64_t size = (*feed.shape)[axis];
      if (size < 0) fail_mismatch(*input, feed, fmt::format("axis {} is below 0", axis));
      if (const auto implied = implied_size((*input->shape)[axis], size)) {
        if (implied->second < 0) {
          fail_mismatch(*input, feed,
                        fmt::format("axis {} makes {} {}, which is below 0", axis, implied->first,
                                    implied->second));
        }
        bind_symbol(implied->first, implied->second, *feed.name, sizes, given_by);
      }
    }
  }
  for (const FeedView& feed : feeds) {
    const InputView& input = *find_input(inputs, *feed.name);
    for (std::size_t axis = 0; axis < feed.shape->size(); ++axis) {
      const std::int64_t wanted = (*input.shape)[axis].evaluate(sizes);
      if ((*feed.shape)[axis] != wanted) {
        fail_mismatch(input, feed, fmt::format("axis {} must be {}", axis, wanted));
      }
    }
  }
  return sizes;
}

bool is_known(const Shape& shape, const SymbolSizes& sizes) {
  for (const Dim& dim : shape) {
    for (const std::string& symbol : dim.symbols()) {
      if (!sizes.contains(symbol)) return false;
    }
  }
  return true;
}

}  // namespace trireme
