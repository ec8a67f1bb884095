// [model] name: models of the bank of words.

#include <algorithm>

#include "session/job/line.h"
#include "session/job/model.h"
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
  options.width = table.size("width", options.width);
  options.bias = table.boolean("bias", options.bias);
  options.sparse_gradient = table.boolean("sparse_gradient", options.sparse_gradient);
  options.decay_biases = table.boolean("decay_biases", true);
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
  options.classes = read_classes(table, classes);
  options.width = table.size("width", options.width);
  if (fields.size() > 1) options.other_width = table.size("other_width", options.other_width);
  options.units = table.size("units", options.units);
  options.layers = read_blocks(table, options.layers);
  options.dropout = table.number("dropout", options.dropout);
  if (position) {
    options.context = table.sizes("context", {options.context}, 1)[0];
    options.mark_width = table.sizes("mark_width", {options.mark_width}, 1)[0];
    options.max_distance = table.size("max_distance", options.max_distance);
  }
  options.sparse_gradient = table.boolean("sparse_gradient", options.sparse_gradient);
  options.decay_biases = table.boolean("decay_biases", true);
  options.weight_init = read_weight_init(table);
  return models::tagger(fields, position, options);
}

nn::BeamOptions read_search(Table& translator, const Value& source, std::int64_t limit) {
  const Node none;
  const Node* node = translator.node("search");
  Table table(node != nullptr ? *node : none);
  nn::BeamOptions search{.limit = limit, .over = sequence::lengths(source)};
  search.beam = table.size("beam", search.beam);
  search.length_penalty = table.number("length_penalty", 1);
  table.done();
  return search;
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
  options.cell = read_word<Cell>(table, "cell", options.cell,
                                 {{"gru", Cell::gru}, {"transformer", Cell::transformer}});
  options.width = table.size("width", options.width);
  if (options.cell == Cell::gru) options.units = table.size("units", options.units);
  else options.heads = table.size("heads", options.heads);
  options.layers = read_blocks(table, options.layers);
  options.dropout = table.number("dropout", options.dropout);
  options.limit = table.size("limit", options.limit);
  options.sparse_gradient = table.boolean("sparse_gradient", options.sparse_gradient);
  options.decay_biases = table.boolean("decay_biases", true);
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
