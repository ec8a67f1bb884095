// Texts to learn a language from: one long string.
#include "base/error.h"
#include "data/text/corpus.h"

namespace trireme::data {
namespace {

Corpus whole_text(const std::string& path, std::string text) {
  if (text.empty()) fail_data(path + ": the file is empty");
  Corpus corpus = empty_corpus(path, {"text"});
  add_example(corpus, {std::move(text)});
  return corpus;
}

}  // namespace

Corpus wikitext2(std::string_view split, const LoadOptions& options) {
  const std::string path = find_part(known_place("wikitext2"), split, options.directory)[0];
  return whole_text(path, read_text(path));
}

Corpus tiny_shakespeare(std::string_view split, const LoadOptions& options) {
  const std::string path = find_part(known_place("tiny_shakespeare"), split, options.directory)[0];
  const std::string text = read_text(path);
  std::size_t cut = text.size() - text.size() / 10;
  // Not inside a character: the bytes after its first begin with the bits 10.
  while (cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) ++cut;
  return whole_text(path, split == "test" ? text.substr(cut) : text.substr(0, cut));
}

}  // namespace trireme::data
