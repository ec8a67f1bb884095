#include "data/text/corpus.h"

#include <algorithm>

#include "base/error.h"
#include "data/blob.h"
#include "data/known.h"
#include "data/lines.h"
#include "data/text/utf8.h"

namespace trireme::data {
namespace {

constexpr Known<Corpus> kKnown[] = {{"movie_reviews", movie_reviews},
                                    {"sentence_polarity", sentence_polarity},
                                    {"wikitext2", wikitext2},
                                    {"tiny_shakespeare", tiny_shakespeare},
                                    {"tatoeba", tatoeba},
                                    {"propbank", propbank},
                                    {"banking77", banking77},
                                    {"clinc150", clinc150},
                                    {"chatterbot", chatterbot}};

}  // namespace

std::int64_t Corpus::size() const {
  return values.empty() ? 0 : static_cast<std::int64_t>(values.front().size());
}

const std::vector<std::string>& Corpus::field(std::string_view wanted) const {
  const auto found = std::find(fields.begin(), fields.end(), wanted);
  if (found != fields.end()) return values[static_cast<std::size_t>(found - fields.begin())];
  std::string message = name + ": no field \"" + std::string(wanted) + "\"; there are";
  for (const std::string& field : fields) message += " " + field;
  const std::string near = nearest(std::string(wanted), fields);
  fail_usage(message + (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

std::vector<std::string> known_corpora() { return names_of<Corpus>(kKnown); }

bool is_corpus(std::string_view name) {
  return std::any_of(std::begin(kKnown), std::end(kKnown), [&](const Known<Corpus>& known) {
    return name.substr(0, name.find('/')) == known.name;
  });
}

Corpus open_text(std::string_view name, const LoadOptions& options) {
  return load_known<Corpus>(kKnown, name, "corpus", options);
}

Corpus empty_corpus(const std::string& name, std::vector<std::string> fields) {
  Corpus corpus{name, std::move(fields), {}};
  corpus.values.resize(corpus.fields.size());
  return corpus;
}

void add_example(Corpus& corpus, std::vector<std::string> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    corpus.values[i].push_back(std::move(values[i]));
  }
}

std::string read_text(const std::string& path) {
  const Blob blob = read_blob(path);
  std::string text(without_bom(blob.bytes));
  check_utf8(text, path);
  return text;
}

Corpus corpus_of_lines(std::string_view text, const std::string& name,
                       const std::vector<std::string>& fields) {
  Corpus corpus = empty_corpus(name, fields);
  int number = 0;
  for (std::string_view line : lines_of(without_bom(text))) {
    ++number;
    if (line.empty()) continue;
    std::vector<std::string> values;
    while (values.size() < fields.size()) {
      const std::size_t tab = std::min(line.find('\t'), line.size());
      values.emplace_back(line.substr(0, tab));
      if (tab == line.size()) break;
      line.remove_prefix(tab + 1);
    }
    if (values.size() < fields.size()) {
      fail_data(name + ":" + std::to_string(number) + ": there is no \"" + fields[values.size()] +
                "\": the line has " + std::to_string(values.size()) + " of " +
                std::to_string(fields.size()) + " fields, with a tab between");
    }
    add_example(corpus, std::move(values));
  }
  if (corpus.size() == 0) fail_data(name + ": the file has no examples");
  return corpus;
}

Corpus read_lines(const std::string& path, const std::vector<std::string>& fields) {
  if (fields.empty()) fail_usage("read_lines: there are no fields");
  return corpus_of_lines(read_text(path), path, fields);
}

Corpus read_running_text(const std::string& path) {
  Corpus corpus = empty_corpus(path, {"text"});
  add_example(corpus, {read_text(path)});
  if (corpus.values[0][0].empty()) fail_data(path + ": the file is empty");
  return corpus;
}

bool names_corpus(const std::string& specification) {
  return is_corpus(specification) || ends_in(specification, ".tsv") ||
         ends_in(specification, ".txt");
}

Corpus open_corpus(const std::string& specification, const std::vector<std::string>& fields) {
  if (ends_in(specification, ".tsv")) return read_lines(specification, fields);
  if (ends_in(specification, ".txt")) return read_running_text(specification);
  if (is_corpus(specification)) return open_text(specification);
  fail_usage("\"" + specification +
             "\" are no texts: those are known ones such as \"tatoeba/test\", \"pairs.tsv\" with "
             "tabs between its fields, and \"book.txt\"");
}

Corpus pick(const Corpus& all, const std::vector<std::int64_t>& rows) {
  Corpus part = empty_corpus(all.name, all.fields);
  for (std::size_t field = 0; field < all.values.size(); ++field) {
    for (const std::int64_t row : rows) {
      part.values[field].push_back(all.values[field][static_cast<std::size_t>(row)]);
    }
  }
  return part;
}

}  // namespace trireme::data
