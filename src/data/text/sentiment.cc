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

// The blanks at the ends do not count.
std::string trimmed(std::string_view text) {
  constexpr const char* kBlanks = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin));
}

std::vector<ArchivedFile> texts_in(const std::string& path, const std::string& part_of_name) {
  std::vector<ArchivedFile> files = read_archive(
      read_blob(path).bytes, path,
      [&](const std::string& name) { return name.find(part_of_name) != std::string::npos; });
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
  Corpus corpus = empty_corpus(path, {"text", "label"});
  for (const std::string label : {"neg", "pos"}) {
    std::vector<std::string> texts;
    for (const ArchivedFile& file : texts_in(path, "/" + label + "/")) {
      texts.push_back(trimmed(file.bytes));
    }
    add_class(corpus, texts, label, split);
  }
  return corpus;
}

Corpus sentence_polarity(std::string_view split, const LoadOptions& options) {
  const std::string path = find_part(known_place("sentence_polarity"), split, options.directory)[0];
  Corpus corpus = empty_corpus(path, {"text", "label"});
  for (const std::string label : {"neg", "pos"}) {
    std::vector<std::string> texts;
    for (const ArchivedFile& file : texts_in(path, "rt-polarity." + label)) {
      for (const std::string_view line : lines_of(file.bytes)) {
        if (std::string text = trimmed(line); !text.empty()) texts.push_back(std::move(text));
      }
    }
    add_class(corpus, texts, label, split);
  }
  return corpus;
}

}  // namespace trireme::data
