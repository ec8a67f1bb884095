#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "data/lines.h"
#include "data/text/id_error.h"
#include "data/text/utf8.h"
#include "data/text/vocabulary_file.h"
#include "trireme/text.h"

namespace trireme::text {
namespace {

using Counted = std::pair<std::string, std::int64_t>;

std::vector<std::string> special_names(const VocabularyOptions& options) {
  std::vector<std::string> names;
  for (const std::string* name : {&options.unknown, &options.begin, &options.end}) {
    if (name->empty()) continue;
    if (std::find(names.begin(), names.end(), *name) != names.end()) {
      fail_usage("vocabulary: two special tokens are \"" + *name + "\"; give them different names");
    }
    data::check_utf8(*name, "special token");
    names.push_back(*name);
  }
  return names;
}

void check_options(const VocabularyOptions& options, std::size_t special) {
  if (options.min_count < 1) {
    fail_usage("vocabulary: min_count is " + std::to_string(options.min_count) +
               ", must be at least 1");
  }
  if (options.max_size < 0 ||
      (options.max_size > 0 && options.max_size <= static_cast<std::int64_t>(special))) {
    fail_usage("vocabulary: max_size is " + std::to_string(options.max_size) +
               ", must be 0 for no limit or more than the " + std::to_string(special) +
               " special tokens");
  }
}

void check_token(const std::string& token) {
  if (token.empty()) fail_data("vocabulary: an empty token");
  data::check_utf8(token, "token");
}

// The most frequent first, equally frequent ones in the order of their bytes.
void sort_by_count(std::vector<Counted>& tokens) {
  std::sort(tokens.begin(), tokens.end(), [](const Counted& a, const Counted& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
}

}  // namespace

void count(const std::vector<std::string>& tokens, TokenCounts& counts) {
  for (const std::string& token : tokens) ++counts[token];
}

bool Vocabulary::add(const std::string& token, std::int64_t count) {
  if (!ids_.emplace(token, size()).second) return false;
  tokens_.push_back(token);
  counts_.push_back(count);
  return true;
}

void Vocabulary::name_special(const VocabularyOptions& options) {
  const auto id_of = [&](const std::string& name) {
    return name.empty() ? -1 : ids_.find(name)->second;
  };
  unknown_ = id_of(options.unknown);
  begin_ = id_of(options.begin);
  end_ = id_of(options.end);
}

Vocabulary::Vocabulary(const TokenCounts& counts, const VocabularyOptions& options) {
  const std::vector<std::string> special = special_names(options);
  check_options(options, special.size());
  for (const std::string& name : special) add(name, 0);
  name_special(options);
  std::vector<Counted> common;
  std::int64_t left_out = 0;
  for (const auto& [token, count] : counts) {
    check_token(token);
    if (count < 0) fail_usage("vocabulary: token \"" + token + "\" has a count below 0");
    if (const auto found = ids_.find(token); found != ids_.end()) {
      counts_[static_cast<std::size_t>(found->second)] = count;
    } else if (count >= options.min_count) {
      common.emplace_back(token, count);
    } else {
      left_out += count;
    }
  }
  if (counts.empty()) fail_data("vocabulary: no tokens; the text is empty or white space alone");
  if (common.empty()) {
    fail_data("vocabulary: none of the " + std::to_string(counts.size()) +
              " different tokens is there " + std::to_string(options.min_count) +
              " times and no special one; lower min_count, or give more text");
  }
  sort_by_count(common);
  for (const auto& [token, count] : common) {
    if (options.max_size == 0 || size() < options.max_size) {
      add(token, count);
    } else {
      left_out += count;
    }
  }
  if (unknown_ >= 0) counts_[static_cast<std::size_t>(unknown_)] += left_out;
}

Vocabulary Vocabulary::of(const std::vector<std::string>& tokens,
                          const VocabularyOptions& options) {
  if (tokens.empty()) fail_data("vocabulary: no tokens");
  Vocabulary result;
  for (const std::string& name : special_names(options)) {
    if (std::find(tokens.begin(), tokens.end(), name) == tokens.end()) result.add(name, 0);
  }
  for (const std::string& token : tokens) {
    check_token(token);
    if (!result.add(token, 0)) fail_data("vocabulary: token \"" + token + "\" comes twice");
  }
  result.name_special(options);
  return result;
}

bool Vocabulary::contains(std::string_view token) const { return ids_.find(token) != ids_.end(); }

std::int64_t Vocabulary::id(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found != ids_.end()) return found->second;
  if (unknown_ < 0) {
    fail_data("token \"" + std::string(token) +
              "\" is not in the vocabulary, which has no token for unknown ones");
  }
  return unknown_;
}

std::vector<std::int64_t> Vocabulary::encode(const std::vector<std::string>& tokens) const {
  std::vector<std::int64_t> ids;
  ids.reserve(tokens.size());
  for (const std::string& token : tokens) ids.push_back(id(token));
  return ids;
}

const std::string& Vocabulary::token(std::int64_t id) const {
  if (id < 0 || id >= size()) fail_id(id, size(), "the vocabulary's ids");
  return tokens_[static_cast<std::size_t>(id)];
}

std::vector<std::string> Vocabulary::decode(std::span<const std::int64_t> ids) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t id = ids[i];
    if (id < 0 || id >= size()) {
      fail_id(id, size(), "the vocabulary's ids", static_cast<std::int64_t>(i));
    }
    tokens.push_back(tokens_[static_cast<std::size_t>(id)]);
  }
  return tokens;
}

std::string Vocabulary::str() const {
  return vocabulary_text({tokens_, counts_, {unknown_, begin_, end_}});
}

Vocabulary Vocabulary::parse(std::string_view text, const std::string& name) {
  const VocabularyFile file = parse_vocabulary(text, name);
  Vocabulary result;
  for (std::size_t id = 0; id < file.tokens.size(); ++id) {
    if (!result.add(file.tokens[id], file.counts[id])) {
      fail_data(name + ": token \"" + file.tokens[id] + "\" comes twice, as id " +
                std::to_string(result.id(file.tokens[id])) + " and " + std::to_string(id));
    }
  }
  result.unknown_ = file.special[0];
  result.begin_ = file.special[1];
  result.end_ = file.special[2];
  return result;
}

void Vocabulary::save(const std::string& path) const { write_file_atomically(path, str()); }

Vocabulary Vocabulary::load(const std::string& path) {
  return parse(data::without_bom(read_file(path)), path);
}

}  // namespace trireme::text
