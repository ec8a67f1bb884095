#pragma once

#include <map>
#include <string>
#include <vector>

#include "trireme/text_data.h"

// Examples for taggers, of a corpus with the fields "words", "tags", "position" and "roles", as propbank() has them.
namespace trireme::data {

// Role labels to be learned: "O", then B- and I- of each role but V, the predicate itself, the most frequent first, of
// those that begin at least `min_count` times. Errors: data, if there is none.
std::vector<std::string> role_labels(const Corpus& corpus, std::int64_t min_count);

// What stands for roles that are not among the labels.
inline constexpr const char* kOtherLabels[] = {"B-<unk>", "I-<unk>"};

// Ragged "words" and "tags", by the encoders of these names, if there are, and "roles", numbers of labels, which
// are the class names; V is O, and labels that are none of them are the two numbers behind the last, kOtherLabels.
// "position" i64[]. Errors: data, for fields that differ in entries and a position that is none.
Dataset tagged_words(const Corpus& corpus, const std::map<std::string, text::Encoder>& encoders,
                     const std::vector<std::string>& labels);

}  // namespace trireme::data
