// [data] text: how texts become ids and examples.

#include "session/job_text.h"

#include <algorithm>

#include "base/error.h"
#include "data/text/language_data.h"
#include "data/text/tagged_data.h"
#include "session/job_settings.h"
#include "session/model_folder.h"
#include "trireme/loss.h"

namespace trireme::job {
namespace {

text::TokenOptions read_tokens(Table& table) {
  text::TokenOptions options;
  const std::string kind = table.text("tokens", kTokenKinds[0]);
  const auto found = std::find(kTokenKinds.begin(), kTokenKinds.end(), kind);
  if (found == kTokenKinds.end()) {
    fail_unknown({kind, table.node("tokens"), table.node("tokens")}, "kind of tokens",
                 {kTokenKinds.begin(), kTokenKinds.end()});
  }
  options.kind = static_cast<text::TokenOptions::Kind>(found - kTokenKinds.begin());
  options.lower_case = table.boolean("lower_case", false);
  return options;
}

text::VocabularyOptions read_vocabulary(Table& table) {
  text::VocabularyOptions options;
  options.min_count = table.integer("min_count", 1, 1);
  options.max_size = table.integer("max_size", 0, 0);
  return options;
}

bool has(const data::Corpus& corpus, const char* field) {
  return std::find(corpus.fields.begin(), corpus.fields.end(), field) != corpus.fields.end();
}

}  // namespace

bool is_text(const Node& node) {
  return node.kind == Node::Kind::text && data::is_corpus(node.text);
}

data::Corpus open_corpus(const Node& node) {
  try {
    return data::open_text(node.text);
  } catch (const Error& error) {
    throw Error(error.kind(), node.where() + ": " + node.path + ": " + error.what());
  }
}

data::Dataset TextReader::read(const data::Corpus& corpus, const Node* named) {
  try {
    const data::Dataset dataset = read_examples(corpus);
    known_ = true;
    return dataset;
  } catch (const Error& error) {
    const Node* place = text_ != nullptr && !text_->path.empty() ? text_ : named;
    const std::string message = error.what();
    if (place == nullptr || message.find(": " + place->path) != message.npos) throw;
    throw Error(error.kind(), place->where() + ": " + place->path + ": " + message);
  }
}

data::Dataset TextReader::read_examples(const data::Corpus& corpus) {
  const Node none;
  Table table(text_ != nullptr ? *text_ : none);
  if (has(corpus, "label")) return classified(corpus, table);
  if (has(corpus, "roles")) return tagged(corpus, table);
  if (has(corpus, "text")) return running(corpus, table);
  fail_usage(corpus.name +
             " has no field \"label\", \"roles\" or \"text\", of which a job could make examples");
}

// The encoder of a column: that of the training corpus, made from its field "text" if it is not known.
const text::Encoder& TextReader::encoder(const data::Corpus& corpus, const std::string& column,
                                         const text::TokenOptions& tokens,
                                         const text::VocabularyOptions& options) {
  const auto found = encoders_.find(column);
  if (found != encoders_.end()) return found->second;
  if (known_) fail_data("the model has no vocabulary of \"" + column + "\"");
  const text::Encoder made{tokens, data::vocabulary_of(corpus, tokens, options)};
  return encoders_.emplace(column, made).first->second;
}

data::Dataset TextReader::classified(const data::Corpus& corpus, Table& table) {
  text::TokenOptions tokens = read_tokens(table);
  tokens.grams = table.integer("grams", 1, 1);
  tokens.most = table.integer("most", 0, 0);
  tokens.distinct = table.boolean("distinct", false);
  const text::VocabularyOptions options = read_vocabulary(table);
  table.done();
  const data::Dataset dataset =
      data::classified_texts(corpus, encoder(corpus, "text", tokens, options), classes_);
  classes_ = dataset.class_names();
  return dataset;
}

data::Dataset TextReader::tagged(const data::Corpus& corpus, Table& table) {
  const text::TokenOptions tokens{.kind = text::TokenOptions::Kind::split,
                                  .lower_case = table.boolean("lower_case", false)};
  const text::VocabularyOptions options = read_vocabulary(table);
  const std::int64_t least = table.integer("min_label_count", 1, 1);
  table.done();
  if (!known_) {
    classes_ = data::role_labels(corpus, least);
    encoders_.emplace("words",
                      text::Encoder{tokens, data::entries_of(corpus, "words", tokens, options)});
    encoders_.emplace("tags", text::Encoder{tokens, data::entries_of(corpus, "tags", tokens, {})});
  }
  return data::tagged_words(corpus, encoders_, classes_);
}

data::Dataset TextReader::running(const data::Corpus& corpus, Table& table) {
  const text::TokenOptions tokens = read_tokens(table);
  text::VocabularyOptions options = read_vocabulary(table);
  options.begin = options.end = "";
  const bool next = table.boolean("next", false);
  const std::int64_t ngrams = table.integer("ngrams", 0, 2);
  const Node* pairs = table.node("skip_grams");
  if (next + (ngrams > 0) + (pairs != nullptr) != 1) {
    fail_data(
        corpus.name +
        " is one running text; to make examples of it, set one of next = true, ngrams = 5 and "
        "skip_grams = { window = 5 } in data.text");
  }
  std::int64_t length = 256;
  if (next) {
    length = table.size("length", length);
    const std::int64_t test_length = table.size("test_length", length);
    if (known_) length = test_length;
  }
  table.done();
  if (next) return data::following_tokens(corpus, encoder(corpus, "text", tokens, options), length);
  if (ngrams > 0) {
    return data::ngram_samples(corpus, encoder(corpus, "context", tokens, options), ngrams);
  }
  encoder(corpus, "centre", tokens, options);
  return skip_grams(corpus, *pairs);
}

data::Dataset TextReader::skip_grams(const data::Corpus& corpus, const Node& node) {
  Table table(node);
  data::SkipGramData options{.seed = seed_};
  options.window = table.size("window", options.window);
  options.subsample = table.number("subsample", options.subsample);
  const bool tree = table.boolean("tree", false);
  if (!tree) options.noise = table.size("noise", options.noise);
  table.done();
  const text::Encoder& words = encoders_.at("centre");
  if (tree) {
    const std::vector<std::int64_t>& counts = words.vocabulary.counts();
    const nn::ClassTree made = nn::huffman_tree({counts.begin(), counts.end()});
    options.path = made.path, options.code = made.code, options.nodes = made.nodes;
  }
  return data::skip_gram_samples(corpus, words, options);
}

}  // namespace trireme::job

namespace trireme {

data::Dataset open_data(const std::string& specification, const Model& model) {
  if (model.text().empty() || !data::is_corpus(specification)) return open_data(specification);
  const job::Node samples =
      job::parse_json(model.samples().empty() ? "{}" : model.samples(), kModelFile);
  job::TextReader reader(&samples, model.text(), model.labels());
  return reader.read(data::open_text(specification));
}

}  // namespace trireme
