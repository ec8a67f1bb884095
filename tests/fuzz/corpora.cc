#include "data/text/corpus.h"
#include "data/text/utf8.h"
#include "fuzz.h"

// Texts of .tsv and .txt files and their way to numbers. The first byte chooses the fields, the
// tokens and the samples.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme;
  if (size == 0) return 0;
  return fuzz(data + 1, size - 1, [&](std::string_view bytes) {
    data::check_utf8(bytes, "f");
    const bool pairs = (data[0] & 1) != 0;
    text::TokenOptions tokens;
    tokens.kind = static_cast<text::TokenOptions::Kind>(data[0] >> 1 & 3);
    tokens.grams = 1 + (data[0] >> 3 & 1);
    const std::vector<std::string> fields = pairs ? std::vector<std::string>{"source", "target"}
                                                  : std::vector<std::string>{"text", "label"};
    const data::Corpus corpus = data::corpus_of_lines(bytes, "f", fields);
    const text::VocabularyOptions special{.begin = "<s>", .end = "</s>"};
    const auto encoder = [&](const std::string& field) {
      return text::Encoder(tokens, data::vocabulary_of(corpus, tokens, special, field));
    };
    const data::Dataset dataset =
        pairs ? data::translated_texts(corpus, encoder("source"), encoder("target"))
              : data::classified_texts(corpus, encoder("text"));
    if (dataset.size() != corpus.size()) __builtin_trap();
    dataset.all();
  });
}
