// [model] name: models of the bank of words.

#include <algorithm>

#include "session/job/field_reader.h"
#include "session/job/line.h"
#include "session/job/model.h"
#include "session/job/model_tables.h"
#include "trireme/models.h"
#include "trireme/sequence.h"

namespace trireme::job {
namespace {

models::IdField ids_of(const Table& table, const Feed& feed) {
  const data::Column& column = feed.column;
  if (column.ids > 0 && is_integer(column.dtype)) return {feed.value, column.ids};
  fail_at(table.self(),
          "column \"" + column.name + "\" is no ids; name the columns to be used with data.input");
}

Value skip_gram(Table& table, const std::vector<Feed>& feeds, std::int64_t) {
  if (feeds.size() != 2) {
    fail_at(table.self(),
            "skip_gram takes two columns of ids, the word and its candidates; the data have " +
                std::to_string(feeds.size()));
  }
  models::SkipGramOptions options;
  read_fields(table, options);
  return models::skip_gram(ids_of(table, feeds[0]), ids_of(table, feeds[1]), options);
}

// Ragged columns are fields; another of integers is the position.
Value tagger(Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  std::vector<models::IdField> fields;
  Value position;
  for (const Feed& feed : feeds) {
    const data::Column& column = feed.column;
    if (column.levels > 0) {
      fields.push_back(ids_of(table, feed));
    } else if (!position && is_integer(column.dtype) && column.shape.empty()) {
      position = feed.value;
    } else {
      fail_at(table.self(),
              "column \"" + column.name +
                  "\" is neither ids of sequences nor the position of a row; name the "
                  "columns to be used with data.input");
    }
  }
  if (fields.empty()) {
    fail_at(table.self(), "tagger needs a column of sequences, and the data have none");
  }
  models::TaggerOptions options;
  options.classes = classes;
  FieldReader reader(table);
  models::tagger_fields(reader, options);
  if (fields.size() > 1) models::other_fields(reader, options);
  if (position) models::position_fields(reader, options);
  return models::tagger(fields, position, options);
}

nn::BeamOptions read_search(Table& translator, const Value& source, std::int64_t limit) {
  SearchKey key;
  read_fields(translator, key);
  const Node none;
  Table table(key.search != nullptr ? *key.search : none);
  SearchTable search;
  read_fields(table, search);
  table.done();
  nn::BeamOptions options{.limit = limit, .over = sequence::lengths(source)};
  options.beam = search.beam;
  options.length_penalty = search.length_penalty;
  return options;
}

// Of "source" and "previous".
Built translator(Table& table, const std::vector<Feed>& feeds, std::int64_t classes) {
  using Cell = models::TranslatorOptions::Cell;
  if (feeds.size() != 2 || feeds[0].column.levels != 1 || feeds[1].column.levels != 1) {
    fail_at(
        table.self(),
        "translator takes pairs of texts, the columns \"source\" and \"previous\", such as those "
        "of \"tatoeba/train\"");
  }
  models::TranslatorOptions options;
  const models::IdField source = ids_of(table, feeds[0]), previous = ids_of(table, feeds[1]);
  options.source_rows = source.rows;
  options.rows = std::max(previous.rows, classes);
  FieldReader reader(table);
  models::cell_fields(reader, options);
  if (options.cell == Cell::gru) models::gru_fields(reader, options);
  else models::head_fields(reader, options);
  models::translator_fields(reader, options);
  const models::Translator made = models::translator(source.ids, previous.ids, options);
  return {made.logits, made.decoder, read_search(table, source.ids, options.limit)};
}

}  // namespace

std::vector<BankModel> word_models() {
  return {
      {"skip_gram", true, skip_gram}, {"tagger", true, tagger}, {"translator", true, translator}};
}

void write_by(Network& network, const Settings& settings, const text::Encoder& target) {
  const LineGuard line(*network.logits.get()->program, *settings.model);
  nn::BeamOptions search = network.search;
  search.start = target.vocabulary.begin_id();
  search.end = target.vocabulary.end_id();
  network.written = nn::beam_search(network.decoder, search);
}

}  // namespace trireme::job
