#pragma once

#include <string>
#include <vector>

#include "trireme/text_data.h"

namespace trireme::data {

// Reads a file of the ChatterBot corpus: YAML with a list "conversations" of lists of turns.
// Errors: data with the line.
std::vector<std::vector<std::string>> parse_conversations(const std::string& text,
                                                          const std::string& name);

// Reads a list [[text, label], ...] under a name of a JSON object. Errors: data.
Corpus intents_from_json(const std::string& text, const std::string& name, const std::string& list);

}  // namespace trireme::data
