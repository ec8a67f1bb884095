#include "data/text/tagged_data.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "data/columns.h"

namespace trireme::data {
namespace {

using Ids = std::vector<std::int64_t>;

// "V" marks the predicate itself, which is given.
std::vector<std::string> roles_of(const std::string& line) {
  std::vector<std::string> roles = text::split(line);
  for (std::string& role : roles) {
    if (role == "B-V" || role == "I-V") role = "O";
  }
  return roles;
}

std::string place_in(const Corpus& corpus, std::size_t example) {
  return corpus.name + ": example " + std::to_string(example);
}

std::int64_t position_of(const Corpus& corpus, std::size_t example, std::size_t words) {
  const std::string& cell = corpus.field("position")[example];
  std::int64_t position = -1;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), position);
  if (error == std::errc() && end == cell.data() + cell.size() && position >= 0 &&
      position < static_cast<std::int64_t>(words)) {
    return position;
  }
  fail_data(place_in(corpus, example) + " has the position \"" + cell + "\", but " +
            std::to_string(words) + " words");
}

class Labels {
 public:
  explicit Labels(const std::vector<std::string>& labels) {
    for (const std::string& label : labels) {
      numbers_.emplace(label, static_cast<std::int64_t>(numbers_.size()));
    }
    others_ = static_cast<std::int64_t>(labels.size());
  }
  std::int64_t number(const std::string& label) const {
    const auto found = numbers_.find(label);
    if (found != numbers_.end()) return found->second;
    return others_ + (label.starts_with("I-") ? 1 : 0);
  }

 private:
  std::map<std::string, std::int64_t> numbers_;
  std::int64_t others_ = 0;
};

}  // namespace

std::vector<std::string> role_labels(const Corpus& corpus, std::int64_t min_count) {
  text::TokenCounts counts;
  for (const std::string& line : corpus.field("roles")) {
    for (const std::string& label : roles_of(line)) {
      if (label.starts_with("B-")) ++counts[label.substr(2)];
    }
  }
  const text::Vocabulary roles(counts,
                               {.min_count = min_count, .unknown = "", .begin = "", .end = ""});
  std::vector<std::string> labels{"O"};
  for (const std::string& role : roles.tokens()) {
    labels.push_back("B-" + role);
    labels.push_back("I-" + role);
  }
  return labels;
}

Dataset tagged_words(const Corpus& corpus, const std::map<std::string, text::Encoder>& encoders,
                     const std::vector<std::string>& labels) {
  const Labels numbers(labels);
  const auto count = static_cast<std::size_t>(corpus.size());
  std::vector<Ids> roles(count);
  Ids lengths, positions;
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::string& label : roles_of(corpus.field("roles")[i])) {
      roles[i].push_back(numbers.number(label));
    }
    lengths.push_back(static_cast<std::int64_t>(roles[i].size()));
    positions.push_back(position_of(corpus, i, roles[i].size()));
  }
  const Tensor splits = splits_of(lengths);
  std::vector<std::pair<Column, Tensor>> columns;
  const auto add = [&](Column column, const std::vector<Ids>& ids) {
    for (std::size_t i = 0; i < count; ++i) {
      if (static_cast<std::int64_t>(ids[i].size()) == lengths[i]) continue;
      fail_data(place_in(corpus, i) + " has " + std::to_string(ids[i].size()) + " entries of \"" +
                column.name + "\" and " + std::to_string(lengths[i]) + " roles");
    }
    columns.push_back({{.name = splits_name(column.name, 0, 1), .shape = {}}, splits});
    columns.push_back({std::move(column), RaggedTensor::from(ids).rows()});
  };
  for (const char* field : {"words", "tags"}) {
    const auto encoder = encoders.find(field);
    if (encoder == encoders.end()) continue;
    std::vector<Ids> ids;
    for (const std::string& line : corpus.field(field)) ids.push_back(encoder->second.encode(line));
    const text::Vocabulary& known = encoder->second.vocabulary;
    add({.name = field, .shape = {}, .ids = known.size(), .words = known.tokens()}, ids);
  }
  const auto examples = static_cast<std::int64_t>(count);
  columns.push_back(
      {{.name = "position", .shape = {}}, Tensor::from<std::int64_t>({examples}, positions)});
  add({.name = "roles", .shape = {}, .ids = static_cast<std::int64_t>(labels.size()) + 2}, roles);
  return from_columns(std::move(columns), labels);
}

}  // namespace trireme::data
