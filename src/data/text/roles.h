#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

// A sentence with its predicates and their semantic roles.
struct RoleSentence {
  std::vector<std::string> words;
  std::vector<std::string> tags;  // parts of speech, one for each word
  struct Predicate {
    std::size_t position = 0;        // of the word
    std::string sense;               // "get.01"
    std::vector<std::string> roles;  // one for each word: B-ARG0, I-ARG0, O
  };
  std::vector<Predicate> predicates;
};

// Reads text in the form of CoNLL-2005 (Carreras and Marquez 2005): a line for each word, and an
// empty line after each sentence. The columns are word, part of speech, lemma, sense ("-" if the
// word is no predicate) and one column with brackets for each predicate: "(ARG0*", "*", "*)".
// Errors: data with the line.
std::vector<RoleSentence> parse_roles(std::string_view text, const std::string& name);

}  // namespace trireme::data
