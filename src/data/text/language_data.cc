#include "data/text/language_data.h"

#include <algorithm>

#include "base/error.h"
#include "data/columns.h"

namespace trireme::data {
namespace {

using Ids = std::vector<std::int64_t>;

[[noreturn]] void fail_short(const Corpus& corpus, std::size_t tokens, const char* of) {
  fail_data(corpus.name + ": a text of " + std::to_string(tokens) + " tokens has no " + of);
}

Column ids_column(const char* name, const text::Vocabulary& vocabulary) {
  return {.name = name, .shape = {}, .ids = vocabulary.size(), .words = vocabulary.tokens()};
}

}  // namespace

std::vector<std::int64_t> all_ids(const Corpus& corpus, const text::Encoder& encoder) {
  Ids all;
  for (const std::string& text : corpus.field("text")) {
    const Ids ids = encoder.encode(text);
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return all;
}

Dataset following_tokens(const Corpus& corpus, const text::Encoder& encoder, std::int64_t length) {
  if (length < 1) fail_usage("following_tokens: length must be at least 1");
  const Ids ids = all_ids(corpus, encoder);
  if (ids.size() < 2) fail_short(corpus, ids.size(), "next token");
  const auto count = static_cast<std::int64_t>(ids.size()) - 1;
  Ids lengths;
  for (std::int64_t begin = 0; begin < count; begin += length) {
    lengths.push_back(std::min(length, count - begin));
  }
  const Tensor splits = splits_of(lengths);
  const auto part = [&](std::ptrdiff_t begin) {
    return Tensor::from<std::int64_t>({count},
                                      Ids(ids.begin() + begin, ids.begin() + begin + count));
  };
  return from_columns({{ids_column("text", encoder.vocabulary), part(0)},
                       {{.name = splits_name("text", 0, 1), .shape = {}}, splits},
                       {ids_column("next", encoder.vocabulary), part(1)},
                       {{.name = splits_name("next", 0, 1), .shape = {}}, splits}});
}

Dataset ngram_samples(const Corpus& corpus, const text::Encoder& encoder, std::int64_t n) {
  if (n < 2) fail_usage("ngram_samples: n is " + std::to_string(n) + ", must be at least 2");
  const Ids ids = all_ids(corpus, encoder);
  const text::Ngrams grams = text::ngrams(ids, n);
  if (grams.next.elements() == 0) fail_short(corpus, ids.size(), "run of that length");
  return from_columns({{ids_column("context", encoder.vocabulary), grams.context},
                       {ids_column("next", encoder.vocabulary), grams.next}});
}

}  // namespace trireme::data
