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

// Sequences of different lengths, one behind the other and without padding: the packed rows, and for
// each level of nesting a Tensor of splits, i64[n + 1]. Sequence i of a level consists of the things
// splits[i] to splits[i + 1] - 1 of the level below; those of the innermost level are packed rows.
// Level 0 is the outermost. Sequences without a thing are ordinary, and so are none at all.
//   [[1, 2], [], [3]]         rows [1, 2, 3], splits [0, 2, 2, 3]
//   [[[1], [2, 3]], [[4]]]    rows [1, 2, 3, 4], splits [0, 2, 3] of level 0, [0, 1, 3, 4] of level 1
class TRIREME_API RaggedTensor {
 public:
  RaggedTensor();  // f32[0] in 0 sequences
  // One Tensor of splits for each level, the outermost first. All are shared, not copied.
  // Errors: usage, naming level, position and both numbers; if there is no level or `rows` is a scalar.
  RaggedTensor(Tensor rows, std::vector<Tensor> splits);
  RaggedTensor(Tensor rows, Tensor splits);
  // One level. Errors: usage, for a negative length and where their sum is not the number of rows.
  static RaggedTensor from_lengths(Tensor rows, const std::vector<std::int64_t>& lengths);
  // Copies; a row is one number.
  template <class T>
  static RaggedTensor from(const std::vector<std::vector<T>>& sequences);
  template <class T>
  static RaggedTensor from(const std::vector<std::vector<std::vector<T>>>& sequences);

  const Tensor& rows() const { return rows_; }
  int levels() const { return static_cast<int>(splits_.size()); }
  const Tensor& splits(int level = 0) const;                   // Errors: usage
  std::int64_t size() const { return splits_[0].dim(0) - 1; }  // sequences of level 0
  // How many things of the level below each sequence of `level` has.
  std::vector<std::int64_t> lengths(int level = 0) const;
  // The first packed row of sequence i of level 0; row_begin(size()) is the number of rows.
  std::int64_t row_begin(std::int64_t i) const;
  // The packed rows of sequence i of level 0, whatever lies between; shares memory.
  Tensor sequence(std::int64_t i) const;
  // Sequences [begin, end) of level 0; shares the rows' memory.
  RaggedTensor slice(std::int64_t begin, std::int64_t end) const;
  // These sequences of level 0, in this order, in fresh memory.
  RaggedTensor gather(std::span<const std::int64_t> sequences) const;

  // Among feeds, and in a batch, a ragged input is an entry of its name, the packed rows, and one for
  // each level's splits: see splits_name().
  void add_to(std::map<std::string, Tensor>& feeds, const std::string& name) const;
  // Errors: usage, if `name` is not there or not ragged, and as the constructor.
  static RaggedTensor from_feeds(const std::map<std::string, Tensor>& feeds,
                                 const std::string& name);

  std::string type_str() const;               // "i64[10] in 3 sequences"; "... in 2, 3 sequences"
  std::string str(int edge_items = 3) const;  // for people: a line for each innermost sequence

 private:
  Tensor rows_;
  std::vector<Tensor> splits_;
};

// Same rows and splits, each as equal() of Tensors.
TRIREME_API bool equal(const RaggedTensor& a, const RaggedTensor& b);

// The entry that holds the splits of a ragged input's level: "words.splits" if it has one level, else
// "words.splits_0", "words.splits_1" and so on. Errors: usage, if there is no such level.
TRIREME_API std::string splits_name(std::string_view name, int level, int levels);
// Whether a name ends as those do; then no input of its own may have it.
TRIREME_API bool is_splits_name(std::string_view name);
// How many levels the input has among these feeds, 0 if it is not ragged. Errors: usage, if the
// entries are those of one level under the name of several.
TRIREME_API int levels_in(const std::map<std::string, Tensor>& feeds, const std::string& name);

// Refuses what cannot be splits of `rows` things: they are i64[n + 1], begin with 0, never decrease
// and end with `rows`. `what` names them in messages.
// Errors: usage, with the position and both numbers.
TRIREME_API void check_splits(const Tensor& splits, std::int64_t rows, std::string_view what);
TRIREME_API void check_splits(std::span<const std::int64_t> splits, std::int64_t rows,
                              std::string_view what);

// Splits of sequences that have these lengths. Errors: usage, for a negative one.
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
