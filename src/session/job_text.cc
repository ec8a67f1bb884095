// [data] text: how texts become ids.

#include <algorithm>

#include "base/error.h"
#include "session/job_settings.h"
#include "session/model_folder.h"

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
  options.grams = table.integer("grams", 1, 1);
  options.most = table.integer("most", 0, 0);
  options.distinct = table.boolean("distinct", false);
  return options;
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

text::Encoder read_encoder(const Node* node, const data::Corpus& training) {
  const Node none;
  Table table(node != nullptr ? *node : none);
  const text::TokenOptions tokens = read_tokens(table);
  text::VocabularyOptions options;
  options.min_count = table.integer("min_count", 1, 1);
  options.max_size = table.integer("max_size", 0, 0);
  table.done();
  try {
    return {tokens, data::vocabulary_of(training, tokens, options)};
  } catch (const Error& error) {
    if (node == nullptr) throw;
    throw Error(error.kind(), node->where() + ": " + node->path + ": " + error.what());
  }
}

}  // namespace trireme::job

namespace trireme {

data::Dataset open_data(const std::string& specification, const Model& model) {
  if (model.text().empty() || !data::is_corpus(specification)) return open_data(specification);
  return data::classified_texts(data::open_text(specification), model.text().begin()->second,
                                model.labels());
}

}  // namespace trireme
