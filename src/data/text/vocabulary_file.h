#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::text {

// The content of a vocabulary file (docs/reference/formats/vocabulary.md).
struct VocabularyFile {
  std::vector<std::string> tokens;
  std::vector<std::int64_t> counts;       // as many
  std::array<std::int64_t, 3> special{};  // ids of the unknown token, begin and end; -1 for none
};

std::string vocabulary_text(const VocabularyFile& file);

// Checks everything but duplicate tokens. Errors: data with the line.
VocabularyFile parse_vocabulary(std::string_view text, const std::string& name);

}  // namespace trireme::text
