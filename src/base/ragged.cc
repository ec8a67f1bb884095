#include "trireme/ragged.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace trireme {
namespace {

constexpr std::string_view kSplits = ".splits";

// Things [begin, end) of a level.
struct Range {
  std::int64_t begin, end;
};

// Returns the splits of the sequences in `ranges`, concatenated and counted from 0. Replaces each
// range by the corresponding range of the level below.
Tensor take_splits(const Tensor& splits, std::vector<Range>& ranges) {
  std::int64_t count = 0;
  for (const Range& range : ranges) count += range.end - range.begin;
  Tensor result = Tensor::uninitialized(i64, {count + 1});
  const std::int64_t* from = splits.data<std::int64_t>();
  std::int64_t* to = result.data<std::int64_t>();
  std::int64_t total = 0;
  *to++ = 0;
  for (Range& range : ranges) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      *to++ = total + from[i + 1] - from[range.begin];
    }
    range = {from[range.begin], from[range.end]};
    total += range.end - range.begin;
  }
  return result;
}

// Returns the rows of these ranges, concatenated.
Tensor take_rows(const Tensor& rows, const std::vector<Range>& ranges) {
  std::vector<std::int64_t> shape = rows.shape();
  shape[0] = 0;
  for (const Range& range : ranges) shape[0] += range.end - range.begin;
  Tensor result = Tensor::uninitialized(rows.dtype(), std::move(shape));
  const auto count = static_cast<std::size_t>(result.dim(0));
  const std::size_t row = count == 0 ? 0 : result.size_bytes() / count;
  std::byte* to = result.bytes();
  for (const Range& range : ranges) {
    const std::size_t bytes = static_cast<std::size_t>(range.end - range.begin) * row;
    if (bytes == 0) continue;
    std::memcpy(to, rows.bytes() + static_cast<std::size_t>(range.begin) * row, bytes);
    to += bytes;
  }
  return result;
}

// Refuses levels that do not fit each other and the rows; `what` gives a level's name for messages.
template <class What>
void check_levels(const Tensor& rows, const std::vector<Tensor>& splits, What what) {
  std::int64_t below = rows.dim(0);
  for (std::size_t level = splits.size(); level-- > 0;) {
    check_splits(splits[level], below, what(static_cast<int>(level)));
    below = splits[level].dim(0) - 1;
  }
}

// The things [range) of `level`, or packed rows below the last level, as text in brackets.
std::string text_of(const RaggedTensor& ragged, int level, Range range, int edge_items) {
  const std::string indent(static_cast<std::size_t>(level), ' ');
  if (level == ragged.levels()) {
    const std::string rows = ragged.rows().rows(range.begin, range.end).str(edge_items);
    std::string text;
    for (const char c : rows) text += c == '\n' ? "\n" + indent : std::string(1, c);
    return text;
  }
  const std::int64_t* splits = ragged.splits(level).data<std::int64_t>();
  const bool whole = range.end - range.begin <= 2 * std::int64_t{edge_items};
  std::string text = "[";
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    if (i > range.begin) text += ",\n" + indent + " ";
    if (!whole && i == range.begin + edge_items) {
      text += "...,\n" + indent + " ";
      i = range.end - edge_items;
    }
    text += text_of(ragged, level + 1, {splits[i], splits[i + 1]}, edge_items);
  }
  return text + "]";
}

}  // namespace

RaggedTensor::RaggedTensor() : splits_{splits_of({})} {}

RaggedTensor::RaggedTensor(Tensor rows, std::vector<Tensor> splits)
    : rows_(std::move(rows)), splits_(std::move(splits)) {
  if (rows_.rank() == 0) fail_usage("ragged tensor: a scalar has no rows");
  if (splits_.empty()) fail_usage("ragged tensor: no splits; there is one Tensor for each level");
  check_levels(rows_, splits_,
               [](int level) { return fmt::format("ragged tensor: splits of level {}", level); });
}

RaggedTensor::RaggedTensor(Tensor rows, Tensor splits)
    : RaggedTensor(std::move(rows), std::vector<Tensor>{std::move(splits)}) {}

RaggedTensor RaggedTensor::from_lengths(Tensor rows, const std::vector<std::int64_t>& lengths) {
  return RaggedTensor(std::move(rows), splits_of(lengths));
}

const Tensor& RaggedTensor::splits(int level) const {
  if (level < 0 || level >= levels()) {
    fail_usage(
        fmt::format("ragged tensor {}: no level {}, there are {}", type_str(), level, levels()));
  }
  return splits_[static_cast<std::size_t>(level)];
}

std::vector<std::int64_t> RaggedTensor::lengths(int level) const {
  const Tensor& here = splits(level);
  const std::int64_t* begins = here.data<std::int64_t>();
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i + 1 < here.dim(0); ++i) lengths.push_back(begins[i + 1] - begins[i]);
  return lengths;
}

std::int64_t RaggedTensor::row_begin(std::int64_t i) const {
  if (i < 0 || i > size()) {
    fail_usage(fmt::format("ragged tensor {}: no sequence {}", type_str(), i));
  }
  for (const Tensor& here : splits_) i = here.data<std::int64_t>()[i];
  return i;
}

Tensor RaggedTensor::sequence(std::int64_t i) const {
  const std::int64_t begin = row_begin(i);
  return rows_.rows(begin, row_begin(i + 1));
}

RaggedTensor RaggedTensor::slice(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || begin > end || end > size()) {
    fail_usage(fmt::format("slice: [{}, {}) is outside {}", begin, end, type_str()));
  }
  std::vector<Range> ranges{{begin, end}};
  RaggedTensor result;
  result.splits_.clear();
  for (const Tensor& here : splits_) result.splits_.push_back(take_splits(here, ranges));
  result.rows_ = rows_.rows(ranges[0].begin, ranges[0].end);
  return result;
}

RaggedTensor RaggedTensor::gather(std::span<const std::int64_t> sequences) const {
  std::vector<Range> ranges;
  for (const std::int64_t i : sequences) {
    if (i < 0 || i >= size()) {
      fail_usage(fmt::format("gather: no sequence {} in {}", i, type_str()));
    }
    ranges.push_back({i, i + 1});
  }
  RaggedTensor result;
  result.splits_.clear();
  for (const Tensor& here : splits_) result.splits_.push_back(take_splits(here, ranges));
  result.rows_ = take_rows(rows_, ranges);
  return result;
}

void RaggedTensor::add_to(std::map<std::string, Tensor>& feeds, const std::string& name) const {
  feeds.insert_or_assign(name, rows_);
  for (int level = 0; level < levels(); ++level) {
    feeds.insert_or_assign(splits_name(name, level, levels()), splits(level));
  }
}

RaggedTensor RaggedTensor::from_feeds(const std::map<std::string, Tensor>& feeds,
                                      const std::string& name) {
  const auto rows = feeds.find(name);
  const int levels = levels_in(feeds, name);
  if (rows == feeds.end() || levels == 0) {
    fail_usage(fmt::format(
        "\"{}\": {}", name,
        rows == feeds.end() ? "there is no such entry"
                            : "it is not ragged: there is no \"" + splits_name(name, 0, 1) + "\""));
  }
  if (rows->second.rank() == 0) fail_usage(fmt::format("\"{}\": a scalar has no rows", name));
  RaggedTensor result;
  result.rows_ = rows->second;
  result.splits_.clear();
  for (int level = 0; level < levels; ++level) {
    result.splits_.push_back(feeds.at(splits_name(name, level, levels)));
  }
  check_levels(result.rows_, result.splits_, [&](int level) {
    return fmt::format("\"{}\", level {}", splits_name(name, level, levels), level);
  });
  return result;
}

std::string RaggedTensor::type_str() const {
  std::vector<std::int64_t> counts;
  for (const Tensor& here : splits_) counts.push_back(here.dim(0) - 1);
  return fmt::format("{} in {} sequences", rows_.type_str(), fmt::join(counts, ", "));
}

std::string RaggedTensor::str(int edge_items) const {
  return text_of(*this, 0, {0, size()}, std::max(edge_items, 1));
}

bool equal(const RaggedTensor& a, const RaggedTensor& b) {
  if (a.levels() != b.levels() || !equal(a.rows(), b.rows())) return false;
  for (int level = 0; level < a.levels(); ++level) {
    if (!equal(a.splits(level), b.splits(level))) return false;
  }
  return true;
}

std::string splits_name(std::string_view name, int level, int levels) {
  if (level < 0 || level >= levels) {
    fail_usage(fmt::format("\"{}\": no level {}, there are {}", name, level, levels));
  }
  return levels == 1 ? fmt::format("{}{}", name, kSplits)
                     : fmt::format("{}{}_{}", name, kSplits, level);
}

bool is_splits_name(std::string_view name) {
  const std::size_t digits = name.size() - (name.find_last_not_of("0123456789") + 1);
  if (digits == 0) return name.ends_with(kSplits);
  name.remove_suffix(digits);
  if (!name.ends_with('_')) return false;
  name.remove_suffix(1);
  return name.ends_with(kSplits);
}

int levels_in(const std::map<std::string, Tensor>& feeds, const std::string& name) {
  if (feeds.contains(splits_name(name, 0, 1))) return 1;
  int levels = 0;
  while (feeds.contains(splits_name(name, levels, levels + 2))) ++levels;
  if (levels == 1) {
    fail_usage(fmt::format("\"{0}_0\": the splits of the only level are called \"{0}\"",
                           splits_name(name, 0, 1)));
  }
  return levels;
}

void check_splits(const Tensor& splits, std::int64_t rows, std::string_view what) {
  if (splits.dtype() != i64 || splits.rank() != 1 || splits.dim(0) == 0) {
    fail_usage(fmt::format("{}: {}, but must be i64[n + 1] of n sequences, at least [0]", what,
                           splits.type_str()));
  }
  check_splits({splits.data<std::int64_t>(), static_cast<std::size_t>(splits.dim(0))}, rows, what);
}

void check_splits(std::span<const std::int64_t> splits, std::int64_t rows, std::string_view what) {
  if (splits.empty()) fail_usage(fmt::format("{}: is empty, but begins with 0", what));
  const std::int64_t* begin = splits.data();
  const std::int64_t* end = begin + splits.size();
  if (*begin != 0) fail_usage(fmt::format("{}: position 0 is {}, must be 0", what, *begin));
  for (const std::int64_t* at = begin + 1; at < end; ++at) {
    if (*at >= at[-1]) continue;
    fail_usage(fmt::format("{}: position {} is {}, less than {} before it; splits never decrease",
                           what, at - begin, *at, at[-1]));
  }
  if (end[-1] == rows) return;
  fail_usage(
      fmt::format("{}: position {}, the last, is {}, but {} are packed below\n"
                  "  hint   splits_of(lengths) makes splits of lengths",
                  what, end - begin - 1, end[-1], rows));
}

Tensor splits_of(const std::vector<std::int64_t>& lengths) {
  Tensor splits = Tensor::uninitialized(i64, {static_cast<std::int64_t>(lengths.size()) + 1});
  std::int64_t* to = splits.data<std::int64_t>();
  to[0] = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0) {
      fail_usage(fmt::format("splits_of: length {} at position {} is negative", lengths[i], i));
    }
    if (__builtin_add_overflow(to[i], lengths[i], &to[i + 1])) {
      fail_usage(
          fmt::format("splits_of: the lengths up to position {} add up to more than 2^63", i));
    }
  }
  return splits;
}

}  // namespace trireme
