// [data] text: how texts become ids and examples.

#include "session/job/text.h"

#include <algorithm>

#include "base/error.h"
#include "data/text/language_data.h"
#include "data/text/tagged_data.h"
#include "session/job/data_tables.h"
#include "session/job/field_reader.h"
#include "session/model/model_folder.h"
#include "trireme/loss.h"

namespace trireme::job {
namespace {

text::SubwordOptions read_subwords(Table& table) {
  using Kind = text::SubwordKind;
  text::SubwordOptions options;
  options.size = table.size("size", options.size);
  options.kind = table.boolean("byte_pairs", false) ? Kind::bpe : Kind::unigram;
  options.fewer = table.boolean("fewer", options.fewer);
  options.coverage = table.number("coverage", options.coverage);
  options.bytes = table.boolean("bytes", options.bytes);
  return options;
}

Cutting read_cutting(Table& table) {
  Cutting cutting;
  const std::string kind = table.text("tokens", kTokenKinds[0]);
  const auto found = std::find(kTokenKinds.begin(), kTokenKinds.end(), kind);
  const bool lower_case = table.boolean("lower_case", false);
  if (kind == kSubwords) {
    cutting.subwords = read_subwords(table);
    cutting.subwords->lower_case = lower_case;
    return cutting;
  }
  if (found == kTokenKinds.end()) {
    std::vector<std::string> kinds(kTokenKinds.begin(), kTokenKinds.end());
    kinds.emplace_back(kSubwords);
    fail_unknown({kind, table.node("tokens"), table.node("tokens")}, "kind of tokens", kinds);
  }
  cutting.tokens.kind = static_cast<text::TokenOptions::Kind>(found - kTokenKinds.begin());
  cutting.tokens.lower_case = lower_case;
  cutting.vocabulary.min_count = table.integer("min_count", 1, 1);
  cutting.vocabulary.max_size = table.integer("max_size", 0, 0);
  return cutting;
}

text::Encoder make_encoder(const data::Corpus& corpus, const std::string& field,
                           const Cutting& cutting) {
  if (!cutting.subwords) {
    return {cutting.tokens, data::vocabulary_of(corpus, cutting.tokens, cutting.vocabulary, field)};
  }
  std::vector<std::string> lines;
  for (const std::string& text : corpus.field(field)) {
    for (std::string& line : text::lines(text)) lines.push_back(std::move(line));
  }
  return text::Encoder(text::SubwordModel::train(lines, *cutting.subwords),
                       cutting.tokens.max_tokens);
}

bool has(const data::Corpus& corpus, const char* field) {
  return std::find(corpus.fields.begin(), corpus.fields.end(), field) != corpus.fields.end();
}

}  // namespace

bool is_text(const Node& node) {
  if (node.kind == Node::Kind::text) return data::names_corpus(node.text);
  return node.kind == Node::Kind::table && node.find("texts") != nullptr;
}

data::Corpus open_corpus(const Node& node, const std::string& directory) {
  TextsTable source{.texts = node.text};
  if (node.kind == Node::Kind::table) {
    Table table(node);
    FieldReader reader(table);
    fields(reader, source);
    table.done();
  }
  std::string place = source.texts;
  if (!data::is_corpus(place)) place = path_in(directory, place);
  try {
    return data::open_corpus(place, source.fields);
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
  if (has(corpus, "source") && has(corpus, "target")) return translated(corpus, table);
  if (has(corpus, "text")) return running(corpus, table);
  fail_usage(
      corpus.name +
      " has no field \"label\", \"roles\", \"source\" and \"target\", or \"text\", of which a job "
      "could make examples");
}

// The encoder of a column: that of the training corpus, made from a field if it is not known.
const text::Encoder& TextReader::encoder(const data::Corpus& corpus, const std::string& column,
                                         const std::string& field, const Cutting& cutting) {
  const auto found = encoders_.find(column);
  if (found != encoders_.end()) return found->second;
  if (known_) fail_data("the model has no vocabulary of \"" + column + "\"");
  return encoders_.emplace(column, make_encoder(corpus, field, cutting)).first->second;
}

data::Dataset TextReader::classified(const data::Corpus& corpus, Table& table) {
  Cutting cutting = read_cutting(table);
  cutting.tokens.max_tokens = table.integer("max_tokens", 0, 0);
  if (!cutting.subwords) {
    cutting.tokens.grams = table.integer("grams", 1, 1);
    cutting.tokens.distinct = table.boolean("distinct", false);
  }
  table.done();
  const data::Dataset dataset =
      data::classified_texts(corpus, encoder(corpus, "text", "text", cutting), classes_);
  classes_ = dataset.class_names();
  return dataset;
}

data::Dataset TextReader::tagged(const data::Corpus& corpus, Table& table) {
  Cutting words{.tokens = {.kind = text::TokenOptions::Kind::split,
                           .lower_case = table.boolean("lower_case", false)}};
  const Cutting tags = words;
  words.vocabulary.min_count = table.integer("min_count", 1, 1);
  words.vocabulary.max_size = table.integer("max_size", 0, 0);
  const std::int64_t least = table.integer("min_label_count", 1, 1);
  table.done();
  if (!known_) {
    classes_ = data::role_labels(corpus, least);
    encoder(corpus, "words", "words", words);
    encoder(corpus, "tags", "tags", tags);
  }
  return data::tagged_words(corpus, encoders_, classes_);
}

data::Dataset TextReader::translated(const data::Corpus& corpus, Table& table) {
  Cutting cutting = read_cutting(table);
  cutting.tokens.max_tokens = table.integer("max_tokens", 0, 0);
  table.done();
  const text::Encoder& source = encoder(corpus, "source", "source", cutting);
  return data::translated_texts(corpus, source, encoder(corpus, "target", "target", cutting));
}

data::Dataset TextReader::running(const data::Corpus& corpus, Table& table) {
  Cutting cutting = read_cutting(table);
  cutting.vocabulary.begin = cutting.vocabulary.end = "";
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
  const char* column = next ? "text" : ngrams > 0 ? "context" : "centre";
  const text::Encoder& tokens = encoder(corpus, column, "text", cutting);
  if (next) return data::following_tokens(corpus, tokens, length);
  return ngrams > 0 ? data::ngram_samples(corpus, tokens, ngrams) : skip_grams(corpus, *pairs);
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
