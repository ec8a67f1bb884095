#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trireme::text {

// A model file of SentencePiece is a message ModelProto in the wire format of Protocol Buffers. Our
// files end with one more field, which other readers skip: the XXH128 of all bytes before it.

// Returns the file with that field added. Precondition: it has none.
std::string sealed(std::string model);

struct SubwordFile {
  std::string_view model;  // the file without that field
  std::size_t pieces = 0;
};

// SentencePiece trusts its files: an invalid file can make it read outside of its memory or abort
// the process. So this checks everything that it relies on: the fields, the pieces, and the double
// array that normalizes text. Errors: data if the file is damaged, truncated or no model.
SubwordFile check_subword_file(std::string_view bytes, const std::string& name);

}  // namespace trireme::text
