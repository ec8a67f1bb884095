// [data] text: how texts become ids and examples.

#include "session/job/text.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "data/text/language_data.h"
#include "data/text/tagged_data.h"
#include "session/job/data_tables.h"
#include "session/job/field_reader.h"
#include "session/job/text_tables.h"
#include "trireme/loss.h"

namespace trireme::job {
namespace {

// Reads how to split texts into `table`.
Cutting read_cutting(FieldReader& reader, TextTable& table) {
  token_kind_field(reader, table);
  lower_case_field(reader, table);
  Cutting cutting;
  if (!table.tokens) {
    subword_fields(reader, table);
    cutting.subwords = table.subwords;
    cutting.subwords->kind = table.byte_pairs ? text::SubwordKind::bpe : text::SubwordKind::unigram;
    cutting.subwords->lower_case = table.lower_case;
    return cutting;
  }
  vocabulary_fields(reader, table);
  cutting.tokens.kind = *table.tokens;
  cutting.tokens.lower_case = table.lower_case;
  cutting.vocabulary = table.vocabulary;
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
  if (node.kind == Node::Kind::list) return !node.items.empty() && is_text(node.items[0]);
  if (node.kind == Node::Kind::text) return data::names_corpus(node.text);
  return node.kind == Node::Kind::table && node.find("texts") != nullptr;
}

namespace {

data::Corpus join_corpora(const Node& list, const std::string& directory) {
  data::Corpus all = open_corpus(list.items[0], directory);
  for (std::size_t i = 1; i < list.items.size(); ++i) {
    const data::Corpus part = open_corpus(list.items[i], directory);
    if (part.fields != all.fields) {
      fail_at(list.items[i],
              fmt::format("has other fields than {}: {} instead of {}", all.name,
                          fmt::join(part.fields, ", "), fmt::join(all.fields, ", ")));
    }
    for (std::size_t field = 0; field < all.values.size(); ++field) {
      std::vector<std::string>& values = all.values[field];
      values.insert(values.end(), part.values[field].begin(), part.values[field].end());
    }
    all.name += " and " + part.name;
  }
  return all;
}

}  // namespace

data::Corpus open_corpus(const Node& node, const std::string& directory) {
  if (node.kind == Node::Kind::list) return join_corpora(node, directory);
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
  FieldReader reader(table);
  TextTable options;
  Cutting cutting = read_cutting(reader, options);
  max_tokens_field(reader, options);
  if (!cutting.subwords) gram_fields(reader, options);
  table.done();
  cutting.tokens.max_tokens = options.max_tokens;
  cutting.tokens.grams = options.grams;
  cutting.tokens.distinct = options.distinct;
  const data::Dataset dataset =
      data::classified_texts(corpus, encoder(corpus, "text", "text", cutting), classes_);
  classes_ = dataset.class_names();
  return dataset;
}

data::Dataset TextReader::tagged(const data::Corpus& corpus, Table& table) {
  FieldReader reader(table);
  TextTable options;
  lower_case_field(reader, options);
  vocabulary_fields(reader, options);
  role_fields(reader, options);
  table.done();
  Cutting words{
      .tokens = {.kind = text::TokenOptions::Kind::split, .lower_case = options.lower_case}};
  const Cutting tags = words;
  words.vocabulary = options.vocabulary;
  if (!known_) {
    classes_ = data::role_labels(corpus, options.min_label_count);
    encoder(corpus, "words", "words", words);
    encoder(corpus, "tags", "tags", tags);
  }
  return data::tagged_words(corpus, encoders_, classes_);
}

data::Dataset TextReader::translated(const data::Corpus& corpus, Table& table) {
  FieldReader reader(table);
  TextTable options;
  Cutting cutting = read_cutting(reader, options);
  max_tokens_field(reader, options);
  table.done();
  cutting.tokens.max_tokens = options.max_tokens;
  const text::Encoder& source = encoder(corpus, "source", "source", cutting);
  return data::translated_texts(corpus, source, encoder(corpus, "target", "target", cutting));
}

data::Dataset TextReader::running(const data::Corpus& corpus, Table& table) {
  FieldReader reader(table);
  TextTable options;
  Cutting cutting = read_cutting(reader, options);
  cutting.vocabulary.begin = cutting.vocabulary.end = "";
  running_text_fields(reader, options);
  const Node* pairs = options.skip_grams;
  if (options.next + options.ngrams.has_value() + (pairs != nullptr) != 1) {
    fail_data(
        corpus.name +
        " is one running text; to make examples of it, set one of next = true, ngrams = 5 and "
        "skip_grams = { window = 5 } in data.text");
  }
  if (options.next) length_fields(reader, options);
  table.done();
  const char* column = options.next ? "text" : options.ngrams ? "context" : "centre";
  const text::Encoder& tokens = encoder(corpus, column, "text", cutting);
  if (options.next) {
    const std::int64_t length = options.length;
    return data::following_tokens(corpus, tokens,
                                  known_ ? options.test_length.value_or(length) : length);
  }
  return options.ngrams ? data::ngram_samples(corpus, tokens, *options.ngrams)
                        : skip_grams(corpus, *pairs);
}

data::Dataset TextReader::skip_grams(const data::Corpus& corpus, const Node& node) {
  Table table(node);
  FieldReader reader(table);
  SkipGramTable choice{.options = {.seed = seed_}};
  pair_fields(reader, choice);
  if (!choice.tree) noise_field(reader, choice);
  table.done();
  data::SkipGramData& options = choice.options;
  const text::Encoder& words = encoders_.at("centre");
  if (choice.tree) {
    const std::vector<std::int64_t>& counts = words.vocabulary.counts();
    const nn::ClassTree made = nn::huffman_tree({counts.begin(), counts.end()});
    options.path = made.path, options.code = made.code, options.nodes = made.nodes;
  }
  return data::skip_gram_samples(corpus, words, options);
}

}  // namespace trireme::job
