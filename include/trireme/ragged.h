#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/export.h"
#include "trireme/tensor.h"

namespace trireme {

// Sequences of different lengths, packed one after another without padding: the packed rows, and
// for each level of nesting a Tensor of splits, i64[n + 1]. Sequence i of a level consists of the
// elements splits[i] to splits[i + 1] - 1 of the level below. The elements of the innermost level
// are packed rows. Level 0 is the outermost. Sequences may be empty, and there may be none.
//   [[1, 2], [], [3]]         rows [1, 2, 3], splits [0, 2, 2, 3]
//   [[[1], [2, 3]], [[4]]]    rows [1, 2, 3, 4], splits [0, 2, 3] and [0, 1, 3, 4]
class TRIREME_API RaggedTensor {
 public:
  RaggedTensor();  // f32[0] in 0 sequences
  // Takes one Tensor of splits per level, the outermost first. All Tensors are shared, not copied.
  // Errors: usage, naming level, position and both numbers; usage, if there is no level or `rows`
  // is a scalar.
  RaggedTensor(Tensor rows, std::vector<Tensor> splits);
  RaggedTensor(Tensor rows, Tensor splits);
  // Builds one level.
  // Errors: usage, for a negative length, or if the sum of the lengths is not the number of rows.
  static RaggedTensor from_lengths(Tensor rows, const std::vector<std::int64_t>& lengths);
  // Copies the numbers; a row is one number.
  template <class T>
  static RaggedTensor from(const std::vector<std::vector<T>>& sequences);
  template <class T>
  static RaggedTensor from(const std::vector<std::vector<std::vector<T>>>& sequences);

  const Tensor& rows() const { return rows_; }
  int levels() const { return static_cast<int>(splits_.size()); }
  const Tensor& splits(int level = 0) const;                   // Errors: usage
  std::int64_t size() const { return splits_[0].dim(0) - 1; }  // sequences of level 0
  // The number of elements of the level below in each sequence of `level`.
  std::vector<std::int64_t> lengths(int level = 0) const;
  // The index of the first packed row of sequence i of level 0; row_begin(size()) is the number of
  // rows.
  std::int64_t row_begin(std::int64_t i) const;
  // The packed rows of sequence i of level 0, across all levels; shares memory.
  Tensor sequence(std::int64_t i) const;
  // Returns sequences [begin, end) of level 0; shares the memory of the rows.
  RaggedTensor slice(std::int64_t begin, std::int64_t end) const;
  // Returns these sequences of level 0, in this order, in new memory.
  RaggedTensor gather(std::span<const std::int64_t> sequences) const;

  // Adds a ragged input to feeds or a batch: an entry `name` with the packed rows, and one entry
  // for the splits of each level, see splits_name().
  void add_to(std::map<std::string, Tensor>& feeds, const std::string& name) const;
  // Errors: usage, if `name` is missing or not ragged, and as the constructor.
  static RaggedTensor from_feeds(const std::map<std::string, Tensor>& feeds,
                                 const std::string& name);

  std::string type_str() const;               // "i64[10] in 3 sequences"; "... in 2, 3 sequences"
  std::string str(int edge_items = 3) const;  // for display: one line for each innermost sequence

 private:
  Tensor rows_;
  std::vector<Tensor> splits_;
};

// Returns whether rows and splits are equal, as equal() of Tensors.
TRIREME_API bool equal(const RaggedTensor& a, const RaggedTensor& b);

// The name of the entry with the splits of a level of a ragged input: "words.splits" if it has one
// level, else "words.splits_0", "words.splits_1" and so on.
// Errors: usage, if the level does not exist.
TRIREME_API std::string splits_name(std::string_view name, int level, int levels);
// Returns whether a name has such a suffix. Ordinary inputs must not have one.
TRIREME_API bool is_splits_name(std::string_view name);
// Returns the number of levels of an input in these feeds; 0 if it is not ragged.
// Errors: usage, if the entries mix the names of one level and of several.
TRIREME_API int levels_in(const std::map<std::string, Tensor>& feeds, const std::string& name);

// Checks that splits are valid for this number of rows: i64[n + 1], starting with 0, never
// decreasing, ending with `rows`. `what` names them in messages.
// Errors: usage, with the position and both numbers.
TRIREME_API void check_splits(const Tensor& splits, std::int64_t rows, std::string_view what);
TRIREME_API void check_splits(std::span<const std::int64_t> splits, std::int64_t rows,
                              std::string_view what);

// Returns the splits of sequences with these lengths.
// Errors: usage, for a negative length.
TRIREME_API Tensor splits_of(const std::vector<std::int64_t>& lengths);

template <class T>
RaggedTensor RaggedTensor::from(const std::vector<std::vector<T>>& sequences) {
  std::vector<T> rows;
  std::vector<std::int64_t> lengths;
  for (const std::vector<T>& sequence : sequences) {
    lengths.push_back(static_cast<std::int64_t>(sequence.size()));
    rows.insert(rows.end(), sequence.begin(), sequence.end());
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  return RaggedTensor(Tensor::from<T>({count}, rows), splits_of(lengths));
}

template <class T>
RaggedTensor RaggedTensor::from(const std::vector<std::vector<std::vector<T>>>& sequences) {
  std::vector<std::vector<T>> inner;
  std::vector<std::int64_t> lengths;
  for (const std::vector<std::vector<T>>& sequence : sequences) {
    lengths.push_back(static_cast<std::int64_t>(sequence.size()));
    inner.insert(inner.end(), sequence.begin(), sequence.end());
  }
  const RaggedTensor packed = from(inner);
  return RaggedTensor(packed.rows_, std::vector<Tensor>{splits_of(lengths), packed.splits_[0]});
}

}  // namespace trireme
