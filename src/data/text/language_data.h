#pragma once

#include <cstdint>
#include <vector>

#include "trireme/text_data.h"

// Examples for language models from corpora of running text; all of "text" is one text. Errors:
// usage for options; data for a text that is too short for one example, and errors of the encoder.
namespace trireme::data {

// Returns the ids of all texts of a corpus, concatenated.
std::vector<std::int64_t> all_ids(const Corpus& corpus, const text::Encoder& encoder);

// Ragged "text", pieces of `length` tokens, and "next", the following token of each.
Dataset following_tokens(const Corpus& corpus, const text::Encoder& encoder, std::int64_t length);

// "context" i64[n - 1] and "next" i64[], every run of n tokens.
Dataset ngram_samples(const Corpus& corpus, const text::Encoder& encoder, std::int64_t n);

struct SkipGramData {
  std::int64_t window = 5;
  double subsample = 1e-3;
  std::uint64_t seed = 0;
  std::int64_t noise = 5;  // words drawn for each pair
  // i64[words, depth], both or none: the path to each word in a tree (nn::ClassTree), instead of
  // noise.
  Tensor path = {}, code = {};
  std::int64_t nodes = 0;  // of the tree
};
// Pairs of a word and a nearby word, different ones in every epoch. With noise: "centre" i64[],
// "candidates" i64[1 + noise] with the nearby word first, and "target" of the same shape, 1 for
// that word and 0 for noise. With a tree: ragged "candidates" are the nodes on the path to the
// nearby word, and "target" the branches. Every epoch has the number of pairs of the first: it
// drops the last ones or begins again. Counts come from the vocabulary of the encoder.
Dataset skip_gram_samples(const Corpus& corpus, const text::Encoder& encoder,
                          const SkipGramData& options);

}  // namespace trireme::data
