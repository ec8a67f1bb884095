#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/find.h"
#include "trireme/text_data.h"

namespace trireme::data {

// Returns a corpus with these fields and without examples.
Corpus empty_corpus(const std::string& name, std::vector<std::string> fields);

// Adds an example. Precondition: one value for each field.
void add_example(Corpus& corpus, std::vector<std::string> values);

// Returns the content of a file, unpacked and checked to be UTF-8. Errors: not_found, io, data.
std::string read_text(const std::string& path);

// As read_lines(), for the content of a file. `name` is for messages.
Corpus corpus_of_lines(std::string_view text, const std::string& name,
                       const std::vector<std::string>& fields);

// Returns the examples of these rows.
Corpus pick(const Corpus& all, const std::vector<std::int64_t>& rows);

}  // namespace trireme::data
