#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trireme::text {

// A model file of SentencePiece is a message ModelProto in the wire format of Protocol Buffers. Ours
// end with one field more, which other readers pass over: the XXH128 of all bytes before it.

// The file with that field. Precondition: it has none.
std::string sealed(std::string model);

struct SubwordFile {
  std::string_view model;  // the file without that field
  std::size_t pieces = 0;
};

// SentencePiece trusts what it loads: a file that was not made by it can have it read outside its
// memory or end the process. So this looks at all that it relies on: the fields, the pieces, and the
// double array by which text is brought to its normal form.
// Errors: data, if the file is damaged, cut short or no model.
SubwordFile check_subword_file(std::string_view bytes, const std::string& name);

}  // namespace trireme::text
