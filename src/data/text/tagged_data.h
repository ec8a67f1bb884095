#pragma once

#include <map>
#include <string>
#include <vector>

#include "trireme/text_data.h"

// Examples for taggers, from a corpus with the fields "words", "tags", "position" and "roles" as in
// propbank().
namespace trireme::data {

// Returns the labels to learn: "O", then B- and I- of each role that begins at least `min_count`
// times, the most frequent first, without V, the predicate itself. Errors: data if there is none.
std::vector<std::string> role_labels(const Corpus& corpus, std::int64_t min_count);

// The labels of roles that are not in the list of labels.
inline constexpr const char* kOtherLabels[] = {"B-<unk>", "I-<unk>"};

// Ragged "words" and "tags" by the encoders of these names, if they exist; "roles", the numbers of
// labels, which are the class names; "position" i64[]. V counts as O. Unknown labels get the two
// numbers after the last, kOtherLabels. Errors: data for fields with different numbers of entries,
// and for an invalid position.
Dataset tagged_words(const Corpus& corpus, const std::map<std::string, text::Encoder>& encoders,
                     const std::vector<std::string>& labels);

}  // namespace trireme::data
