#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/data.h"
#include "trireme/export.h"
#include "trireme/known_data.h"
#include "trireme/text.h"

namespace trireme::data {

// Text before it becomes numbers: for each field, one string per example.
struct TRIREME_API Corpus {
  std::string name;                              // for messages
  std::vector<std::string> fields;               // such as "text" and "label"
  std::vector<std::vector<std::string>> values;  // values[field][example], UTF-8

  std::int64_t size() const;
  // Returns all values of a field. Errors: usage with the nearest name.
  const std::vector<std::string>& field(std::string_view name) const;
};

// The known corpora. They are searched in the folders of known_data.h. If the authors provide no
// test part, it is a fixed random share of the examples. Errors: as there; data with file and
// position, also for bytes that are not UTF-8.

// Reviews of films, "text" and "label", which is "neg" or "pos": whole reviews, and sentences. A
// fifth of each class is the test part.
TRIREME_API Corpus movie_reviews(std::string_view split, const LoadOptions& options = {});
TRIREME_API Corpus sentence_polarity(std::string_view split, const LoadOptions& options = {});
// Running text: one example whose "text" is the whole text. WikiText-2 has the parts "validation"
// and "test" (the files have no training part). The test part of Shakespeare is its last tenth.
TRIREME_API Corpus wikitext2(std::string_view split, const LoadOptions& options = {});
TRIREME_API Corpus tiny_shakespeare(std::string_view split, const LoadOptions& options = {});
// Sentences in English and French, "source" and "target". The test part has 2,000 pairs or a few
// more. An English sentence is in one part only, with all its translations.
TRIREME_API Corpus tatoeba(std::string_view split, const LoadOptions& options = {});
// Semantic roles: an example for each predicate of a sentence of the English Web Treebank. "words",
// "tags" (parts of speech) and "roles" have one entry for each word, separated by spaces; roles
// have the form B-ARG0, I-ARG0 or O. "position" is the number of words before the predicate, and
// "sense" its roleset, "get.01". A tenth of the sentences is the test part.
TRIREME_API Corpus propbank(std::string_view split, const LoadOptions& options = {});
// Questions of customers: "text" and "label", the intent. CLINC150 has the parts "train",
// "validation" and "test" without out-of-scope examples; these are in "train_oos", "validation_oos"
// and "test_oos".
TRIREME_API Corpus banking77(std::string_view split, const LoadOptions& options = {});
TRIREME_API Corpus clinc150(std::string_view split, const LoadOptions& options = {});
// Small talk and support, "question", "answer" and "category". The parts are its languages:
// "english". In a conversation of more than two turns, each later turn is an answer to the first.
TRIREME_API Corpus chatterbot(std::string_view language, const LoadOptions& options = {});

// Opens a known corpus by name, "banking77/test". Errors: usage with the nearest name.
TRIREME_API Corpus open_text(std::string_view name, const LoadOptions& options = {});
TRIREME_API std::vector<std::string> known_corpora();
// Returns whether a name such as "banking77" or "banking77/test" is a corpus.
TRIREME_API bool is_corpus(std::string_view name);

// Read your own corpora from a file, plain, .gz or .zst. read_lines() makes an example from each
// non-empty line, with its fields separated by tabs; further fields are ignored. The other function
// reads running text: the whole file is the "text" of one example. Errors: not_found; io; data with
// the line for too few fields, bytes that are not UTF-8, and no examples.
TRIREME_API Corpus read_lines(const std::string& path, const std::vector<std::string>& fields);
TRIREME_API Corpus read_running_text(const std::string& path);
// Opens any of these by its name on the command line: "tatoeba/test", "pairs.tsv" with these
// fields, "book.txt". Errors: usage.
TRIREME_API Corpus open_corpus(const std::string& specification,
                               const std::vector<std::string>& fields);
// Returns whether the name is one of these.
TRIREME_API bool names_corpus(const std::string& specification);

// --- From texts to examples ---------------------------------------------------------------------

// Returns the vocabulary of a field; for Kind::bytes always byte_vocabulary(). Errors: usage if the
// corpus has no such field; data, as Vocabulary.
TRIREME_API text::Vocabulary vocabulary_of(const Corpus& corpus, const text::TokenOptions& tokens,
                                           const text::VocabularyOptions& options = {},
                                           std::string_view field = "text");

// Texts and their classes: "text", a ragged column of ids, and "label" i64[], the number of the
// class in `classes`, or in the sorted labels if `classes` is empty. Errors: usage if the corpus
// has no such fields; data for a label that is no class.
TRIREME_API Dataset classified_texts(const Corpus& corpus, const text::Encoder& encoder,
                                     std::vector<std::string> classes = {});

// Texts and their target texts, such as translations: the fields "source" and "target" as three
// ragged columns of ids. These are "source", "previous" (the begin token, then the target) and
// "next" (the target, then the end token). Errors: usage if the corpus has no such fields, or the
// target vocabulary no such tokens; data, as encode().
TRIREME_API Dataset translated_texts(const Corpus& corpus, const text::Encoder& source,
                                     const text::Encoder& target);

}  // namespace trireme::data
