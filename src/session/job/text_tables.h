#pragma once

// The keys of [data] text, as fields of a struct (nn/catalog/field.h). The texts and `tokens`
// decide which of them a job may have: TextReader.

#include <cstdint>
#include <optional>

#include "data/text/language_data.h"
#include "session/job/tables.h"
#include "session/model/model_folder.h"
#include "trireme/text.h"

namespace trireme::job {

struct TextTable {
  // Unset: subwords.
  std::optional<text::TokenOptions::Kind> tokens = text::TokenOptions::Kind::words;
  bool lower_case = false;
  text::VocabularyOptions vocabulary = {};
  text::SubwordOptions subwords = {};
  bool byte_pairs = false;
  std::int64_t max_tokens = 0, grams = 1;
  bool distinct = false;
  std::int64_t min_label_count = 1;
  bool next = false;
  std::int64_t length = 256;
  std::optional<std::int64_t> test_length = {};
  std::optional<std::int64_t> ngrams = {};
  const Node* skip_grams = nullptr;
};

template <class Visit>
void token_kind_field(Visit& visit, TextTable& o) {
  using Kind = std::optional<text::TokenOptions::Kind>;
  nn::Words<Kind> words;
  for (std::size_t i = 0; i < kTokenKinds.size(); ++i) {
    words.emplace_back(kTokenKinds[i], static_cast<text::TokenOptions::Kind>(i));
  }
  words.emplace_back(kSubwords, std::nullopt);
  visit(nn::Field{"tokens", "how texts are split; `\"split\"`: at white space"}, o.tokens, words);
}
template <class Visit>
void lower_case_field(Visit& visit, TextTable& o) {
  visit(nn::Field{"lower_case", "of words, subwords and split texts"}, o.lower_case);
}
template <class Visit>
void vocabulary_fields(Visit& visit, TextTable& o) {
  using F = nn::Field;
  visit(F{"min_count", "rarer tokens are left out; not for subwords", kAtLeastOne},
        o.vocabulary.min_count);
  visit(F{"max_size", "maximum size of the vocabulary; 0: no maximum; not for subwords", kCount},
        o.vocabulary.max_size);
}
template <class Visit>
void subword_fields(Visit& visit, TextTable& o) {
  using F = nn::Field;
  visit(F{"size", "for subwords: number of pieces", nn::kSize}, o.subwords.size);
  visit(F{"byte_pairs", "for subwords: byte-pair encoding instead of a unigram model"},
        o.byte_pairs);
  visit(F{"fewer", "for subwords: take fewer pieces if the texts do not have `size`"},
        o.subwords.fewer);
  visit(F{"coverage", "for subwords: share of characters that get a piece", {0.98, 1}},
        o.subwords.coverage);
  visit(F{"bytes", "for subwords: pieces of bytes for all other characters"}, o.subwords.bytes);
}
template <class Visit>
void max_tokens_field(Visit& visit, TextTable& o) {
  visit(nn::Field{"max_tokens", "only the first tokens of a text; 0: all", kCount}, o.max_tokens);
}
template <class Visit>
void gram_fields(Visit& visit, TextTable& o) {
  using F = nn::Field;
  visit(F{"grams", "2: pairs of neighbors are tokens too; not for subwords", kAtLeastOne}, o.grams);
  visit(F{"distinct", "each token of a text once; not for subwords"}, o.distinct);
}
template <class Visit>
void role_fields(Visit& visit, TextTable& o) {
  visit(nn::Field{"min_label_count", "for roles: rarer ones are not learned, but count as missed",
                  kAtLeastOne},
        o.min_label_count);
}
template <class Visit>
void running_text_fields(Visit& visit, TextTable& o) {
  using F = nn::Field;
  visit(F{"next", "of a running text: the token after each"}, o.next);
  visit(F{"ngrams", "of a running text: every run of this many tokens", {.min = 2}, false, "none"},
        o.ngrams);
  visit(F{.name = "skip_grams",
          .doc = "of a running text: pairs of a word and one nearby",
          .definition = "skip_grams"},
        o.skip_grams);
}
template <class Visit>
void length_fields(Visit& visit, TextTable& o) {
  using F = nn::Field;
  visit(F{"length", "with `next`: tokens of a piece", nn::kSize, false, "", "tokens"}, o.length);
  visit(F{"test_length", "the same for test data", nn::kSize, false, "`length`", "tokens"},
        o.test_length);
}
// All of them, for the catalog.
template <class Visit>
void fields(Visit& visit, TextTable& o) {
  token_kind_field(visit, o);
  lower_case_field(visit, o);
  vocabulary_fields(visit, o);
  subword_fields(visit, o);
  max_tokens_field(visit, o);
  gram_fields(visit, o);
  role_fields(visit, o);
  running_text_fields(visit, o);
  length_fields(visit, o);
}

struct SkipGramTable {
  data::SkipGramData options = {};
  bool tree = false;
};
template <class Visit>
void pair_fields(Visit& visit, SkipGramTable& o) {
  using F = nn::Field;
  visit(F{"window", "maximum distance of two words; it shrinks at random", nn::kSize},
        o.options.window);
  visit(F{"subsample", "frequent words are left out at random; 0: none"}, o.options.subsample);
  visit(F{"tree",
          "instead of `noise`: `candidates` are the nodes of a Huffman tree on the path to the "
          "word, and `target` is the branches"},
        o.tree);
}
template <class Visit>
void noise_field(Visit& visit, SkipGramTable& o) {
  using F = nn::Field;
  visit(F{"noise",
          "random words for each pair, drawn by their count to the power of 0.75; `target` is 1 "
          "for the word nearby and 0 for these",
          nn::kSize},
        o.options.noise);
}
template <class Visit>
void fields(Visit& visit, SkipGramTable& o) {
  pair_fields(visit, o);
  noise_field(visit, o);
}

}  // namespace trireme::job
