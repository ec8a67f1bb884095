#include "data/text/roles.h"

#include <algorithm>

#include "base/error.h"
#include "data/lines.h"
#include "data/order.h"
#include "data/text/corpus.h"

namespace trireme::data {
namespace {

constexpr std::size_t kFixedColumns = 4;  // word, part of speech, lemma, sense

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (auto cell = next_word(line); !cell.empty(); cell = next_word(line)) cells.push_back(cell);
  return cells;
}

// Brackets of one predicate, word by word, to labels that say where a role begins and goes on.
class Brackets {
 public:
  // Empty if the cell is none of "(ROLE*", "(ROLE*)", "*", "*)" that fits here.
  std::string label(std::string_view cell) {
    const bool begins = cell.starts_with('(');
    const bool ends = cell.ends_with(')');
    if (begins) cell.remove_prefix(1);
    if (ends) cell.remove_suffix(1);
    if (!cell.ends_with('*')) return "";
    cell.remove_suffix(1);  // the rest is a role where one begins, or empty
    if (begins == cell.empty() || (begins && open())) return "";
    if (cell.find_first_of("()*") != std::string_view::npos) return "";
    if (begins) role_ = std::string(cell);
    if (ends && !open()) return "";
    std::string result = open() ? (begins ? "B-" : "I-") + role_ : "O";
    if (ends) role_.clear();
    return result;
  }
  bool open() const { return !role_.empty(); }

 private:
  std::string role_;  // the one that is open
};

class RoleReader {
 public:
  explicit RoleReader(const std::string& name) : name_(name) {}

  std::vector<RoleSentence> read(std::string_view text) {
    for (const std::string_view line : lines_of(text)) {
      ++line_;
      const std::vector<std::string_view> cells = cells_of(line);
      if (cells.empty()) end_sentence();
      else add_word(cells);
    }
    end_sentence();
    if (sentences_.empty()) fail_data(name_ + ": the file has no sentences");
    return std::move(sentences_);
  }

 private:
  [[noreturn]] void fail_here(const std::string& what) const {
    fail_data(name_ + ":" + std::to_string(line_) + ": " + what);
  }

  void add_word(const std::vector<std::string_view>& cells) {
    if (cells.size() < kFixedColumns) {
      fail_here(std::to_string(cells.size()) +
                " columns, there must be word, part of speech, lemma, sense and one for each "
                "predicate");
    }
    const std::size_t columns = cells.size() - kFixedColumns;
    if (sentence_.words.empty()) {
      brackets_.assign(columns, {});
      roles_.assign(columns, {});
    }
    if (columns != brackets_.size()) {
      fail_here(std::to_string(cells.size()) + " columns, but the sentence began with " +
                std::to_string(brackets_.size() + kFixedColumns));
    }
    if (cells[3] != "-") {
      sentence_.predicates.push_back({sentence_.words.size(), std::string(cells[3]), {}});
    }
    sentence_.words.emplace_back(cells[0]);
    sentence_.tags.emplace_back(cells[1]);
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string_view cell = cells[kFixedColumns + i];
      roles_[i].push_back(brackets_[i].label(cell));
      if (roles_[i].back().empty()) {
        fail_here("\"" + std::string(cell.substr(0, 40)) + "\" in column " +
                  std::to_string(kFixedColumns + i + 1) +
                  " does not fit; brackets are (ROLE*, *, *) and (ROLE*)");
      }
    }
  }

  void end_sentence() {
    if (sentence_.words.empty()) return;
    if (sentence_.predicates.size() != brackets_.size()) {
      fail_here("the sentence before has " + std::to_string(sentence_.predicates.size()) +
                " predicates, but " + std::to_string(brackets_.size()) + " columns of brackets");
    }
    for (std::size_t i = 0; i < brackets_.size(); ++i) {
      if (brackets_[i].open()) {
        fail_here("a bracket of column " + std::to_string(kFixedColumns + i + 1) +
                  " is not closed in the sentence before");
      }
      sentence_.predicates[i].roles = std::move(roles_[i]);
    }
    sentences_.push_back(std::move(sentence_));
    sentence_ = {};
  }

  const std::string& name_;
  int line_ = 0;
  RoleSentence sentence_;  // the one being read, and its columns of brackets
  std::vector<Brackets> brackets_;
  std::vector<std::vector<std::string>> roles_;
  std::vector<RoleSentence> sentences_;
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

std::vector<RoleSentence> parse_roles(std::string_view text, const std::string& name) {
  return RoleReader(name).read(text);
}

Corpus propbank(std::string_view split, const LoadOptions& options) {
  constexpr std::uint64_t kSeed = 50;
  const std::string path = find_part(known_place("propbank"), split, options.directory)[0];
  const std::vector<RoleSentence> sentences = parse_roles(read_text(path), path);
  const auto count = static_cast<std::int64_t>(sentences.size());
  Corpus corpus = empty_corpus(path, {"words", "tags", "position", "sense", "roles"});
  for (const std::int64_t row : hold_out(count, count / 10, kSeed).of(split)) {
    const RoleSentence& sentence = sentences[static_cast<std::size_t>(row)];
    for (const RoleSentence::Predicate& predicate : sentence.predicates) {
      add_example(corpus,
                  {joined(sentence.words), joined(sentence.tags),
                   std::to_string(predicate.position), predicate.sense, joined(predicate.roles)});
    }
  }
  return corpus;
}

}  // namespace trireme::data
