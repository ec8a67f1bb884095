#include "data/text/corpus.h"

#include <algorithm>

#include "base/error.h"
#include "data/blob.h"
#include "data/text/utf8.h"

namespace trireme::data {
namespace {

struct Known {
  const char* name;
  Corpus (*load)(std::string_view split, const LoadOptions& options);
};

constexpr Known kKnown[] = {{"movie_reviews", movie_reviews},
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

std::vector<std::string> known_corpora() {
  std::vector<std::string> names;
  for (const Known& known : kKnown) names.push_back(known.name);
  return names;
}

Corpus open_text(std::string_view name, const LoadOptions& options) {
  const std::size_t slash = std::min(name.find('/'), name.size());
  const std::string corpus(name.substr(0, slash));
  for (const Known& known : kKnown) {
    if (corpus != known.name) continue;
    if (slash == name.size()) {
      const std::string part = known_place(corpus).parts.front().split;
      fail_usage("corpus \"" + corpus + "\": say which part, such as " + corpus + "/" + part);
    }
    return known.load(name.substr(slash + 1), options);
  }
  std::string message = "unknown corpus \"" + std::string(name) + "\"; there are";
  for (const std::string& known : known_corpora()) message += " " + known;
  const std::string near = nearest(corpus, known_corpora());
  fail_usage(message + (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
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
  std::string text(read_blob(path).bytes);
  check_utf8(text, path);
  return text;
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
