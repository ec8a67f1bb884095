#pragma once

#include <cstdint>
#include <vector>

#include "trireme/text_data.h"

// Examples for language models, of corpora of running text: all of "text" is one. Errors: usage, for options; data,
// for a text that is too short for a single example and for what the encoder throws.
namespace trireme::data {

// The ids of a corpus' texts, one behind the other.
std::vector<std::int64_t> all_ids(const Corpus& corpus, const text::Encoder& encoder);

// Ragged "text", pieces of `length` tokens, and "next", the tokens that follow each of theirs.
Dataset following_tokens(const Corpus& corpus, const text::Encoder& encoder, std::int64_t length);

// "context" i64[n - 1] and "next" i64[], every run of n tokens.
Dataset ngram_samples(const Corpus& corpus, const text::Encoder& encoder, std::int64_t n);

struct SkipGramData {
  std::int64_t window = 5;
  double subsample = 1e-3;
  std::uint64_t seed = 0;
  std::int64_t noise = 5;  // words drawn for each pair
  // i64[words, depth], both or none: the way to each word in a tree, as nn::ClassTree has it, instead of noise.
  Tensor path = {}, code = {};
  std::int64_t nodes = 0;  // of the tree
};
// Pairs of a word and one near it, other ones in every epoch. With noise "centre" i64[], "candidates"
// i64[1 + noise], the word near first, and "target" of the same shape, 1 for that and 0 for noise. With a tree
// ragged "candidates" are the nodes on the way to the word near, and "target" the branches taken. An epoch has as many pairs as the
// first: it leaves the last ones out, or begins again. Counts are those of the encoder's vocabulary.
Dataset skip_gram_samples(const Corpus& corpus, const text::Encoder& encoder,
                          const SkipGramData& options);

}  // namespace trireme::data
