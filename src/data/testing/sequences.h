#pragma once

// For tests: a data set of sequences whose examples contain their number.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trireme/data.h"

namespace trireme::data {

// Lengths of n sequences, 0 to 11, equal on every machine.
inline std::vector<std::int64_t> lengths_of(std::int64_t n) {
  std::vector<std::int64_t> lengths;
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    lengths.push_back(static_cast<std::int64_t>(state >> 16) % 12);
  }
  return lengths;
}

// Example i has "id" i; "words", lengths_of(n)[i] numbers 1000 i, 1000 i + 1, ...; and "tree", two
// levels: i % 3 sequences, each of them {i, i} and f32 rows [2].
inline Dataset sequences(std::int64_t n) {
  const std::vector<std::int64_t> lengths = lengths_of(n);
  std::vector<std::int64_t> ids, words, branches, leaves;
  std::vector<float> tree;
  for (std::int64_t i = 0; i < n; ++i) {
    ids.push_back(i);
    for (std::int64_t k = 0; k < lengths[static_cast<std::size_t>(i)]; ++k) {
      words.push_back(1000 * i + k);
    }
    branches.push_back(i % 3);
    leaves.insert(leaves.end(), static_cast<std::size_t>(i % 3), 2);
    tree.insert(tree.end(), static_cast<std::size_t>(i % 3 * 4), static_cast<float>(i));
  }
  const auto count = static_cast<std::int64_t>(words.size());
  const auto rows = static_cast<std::int64_t>(tree.size()) / 2;
  return from_ragged(
      {{"words", RaggedTensor::from_lengths(Tensor::from({count}, words), lengths)},
       {"tree", RaggedTensor(Tensor::from({rows, 2}, tree),
                             std::vector<Tensor>{splits_of(branches), splits_of(leaves)})}},
      {{"id", Tensor::from({n}, ids)}}, {"a", "b"});
}

}  // namespace trireme::data
