// Reviews of films with their verdict.
#include <algorithm>

#include "base/error.h"
#include "data/archive.h"
#include "data/blob.h"
#include "data/lines.h"
#include "data/order.h"
#include "data/text/corpus.h"
#include "data/text/utf8.h"

namespace trireme::data {
namespace {

// The texts of the archive, in the order of their names.
std::vector<ArchivedFile> texts_in(const std::string& path) {
  std::vector<ArchivedFile> files =
      read_archive(read_blob(path).bytes, path, [](const std::string&) { return true; });
  std::sort(files.begin(), files.end(),
            [](const ArchivedFile& a, const ArchivedFile& b) { return a.name < b.name; });
  for (const ArchivedFile& file : files) check_utf8(file.bytes, path + ": " + file.name);
  return files;
}

// Adds the texts of one class that belong to the part. Errors: data, if there are none.
void add_class(Corpus& corpus, const std::vector<std::string>& texts, const std::string& label,
               std::string_view split) {
  if (texts.empty()) fail_data(corpus.name + ": no texts of class \"" + label + "\"");
  constexpr std::uint64_t kSeed = 20;
  const auto count = static_cast<std::int64_t>(texts.size());
  for (const std::int64_t row : hold_out(count, count / 5, kSeed).of(split)) {
    add_example(corpus, {texts[static_cast<std::size_t>(row)], label});
  }
}

}  // namespace

Corpus movie_reviews(std::string_view split, const LoadOptions& options) {
  const std::string path = find_part(known_place("movie_reviews"), split, options.directory)[0];
  const std::vector<ArchivedFile> files = texts_in(path);
  Corpus corpus = empty_corpus(path, {"text", "label"});
  for (const std::string label : {"neg", "pos"}) {
    std::vector<std::string> texts;
    for (const ArchivedFile& file : files) {
      const bool of_class = file.name.find("/" + label + "/") != std::string::npos;
      if (of_class) texts.emplace_back(trimmed(file.bytes));
    }
    add_class(corpus, texts, label, split);
  }
  return corpus;
}

Corpus sentence_polarity(std::string_view split, const LoadOptions& options) {
  const std::string path = find_part(known_place("sentence_polarity"), split, options.directory)[0];
  const std::vector<ArchivedFile> files = texts_in(path);
  Corpus corpus = empty_corpus(path, {"text", "label"});
  for (const std::string label : {"neg", "pos"}) {
    std::vector<std::string> texts;
    for (const ArchivedFile& file : files) {
      if (!file.name.ends_with("rt-polarity." + label)) continue;
      for (const std::string_view line : lines_of(file.bytes)) {
        if (const std::string_view text = trimmed(line); !text.empty()) texts.emplace_back(text);
      }
    }
    add_class(corpus, texts, label, split);
  }
  return corpus;
}

}  // namespace trireme::data
