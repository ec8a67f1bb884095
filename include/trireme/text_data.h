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

// Text as people wrote it, before it becomes numbers: for each field one string per example.
struct TRIREME_API Corpus {
  std::string name;                              // for messages
  std::vector<std::string> fields;               // such as "text" and "label"
  std::vector<std::vector<std::string>> values;  // values[field][example], UTF-8

  std::int64_t size() const;
  // All values of a field. Errors: usage, with the nearest name.
  const std::vector<std::string>& field(std::string_view name) const;
};

// The known corpora; they are looked for where known_data.h says. Where the authors give no test part,
// a fixed random share of the examples is held out for it. Errors: as there; data, naming file and
// place, also for bytes that are not UTF-8.

// Reviews of films, "text" and "label", which is "neg" or "pos": whole reviews, and sentences. A fifth
// of each class is held out.
TRIREME_API Corpus movie_reviews(std::string_view split, const LoadOptions& options = {});
TRIREME_API Corpus sentence_polarity(std::string_view split, const LoadOptions& options = {});
// Running text, in one example whose "text" is all of it: WikiText-2, parts "validation" and "test"
// (the training part is not among the files), and Shakespeare, of which the last tenth is the test.
TRIREME_API Corpus wikitext2(std::string_view split, const LoadOptions& options = {});
TRIREME_API Corpus tiny_shakespeare(std::string_view split, const LoadOptions& options = {});
// Sentences in English and French, "source" and "target". Held out are 2,000 pairs or a few more; an English
// sentence is in one part only, with all its translations.
TRIREME_API Corpus tatoeba(std::string_view split, const LoadOptions& options = {});
// Who did what to whom: an example for each predicate of a sentence of the English Web Treebank.
// "words", "tags" (parts of speech) and "roles" have one entry for each word, with a space between;
// roles are in the form B-ARG0, I-ARG0 or O. "position" counts the words before the predicate and
// "sense" is its roleset, "get.01". A tenth of the sentences is held out.
TRIREME_API Corpus propbank(std::string_view split, const LoadOptions& options = {});
// What customers ask, "text" and "label", the intent. CLINC150 has parts "train", "validation" and
// "test", without its examples that are out of scope: those are in "train_oos", "validation_oos" and
// "test_oos".
TRIREME_API Corpus banking77(std::string_view split, const LoadOptions& options = {});
TRIREME_API Corpus clinc150(std::string_view split, const LoadOptions& options = {});
// Small talk and support, "question", "answer" and "category". The parts are its languages: "english".
// A conversation of more than two turns gives each of its later turns as an answer to the first.
TRIREME_API Corpus chatterbot(std::string_view language, const LoadOptions& options = {});

// A known corpus by its text name, "banking77/test". Errors: usage, with the nearest name.
TRIREME_API Corpus open_text(std::string_view name, const LoadOptions& options = {});
TRIREME_API std::vector<std::string> known_corpora();
// Whether "banking77" or "banking77/test" names a corpus.
TRIREME_API bool is_corpus(std::string_view name);

// Corpora of your own, from a file that is plain, .gz or .zst: an example in each line that is not empty, its fields
// with a tab between; what follows the last of them is passed over. And running text, all of the file as one example's
// "text". Errors: not_found, io; data, naming the line, for too few fields, bytes that are not UTF-8 and no examples.
TRIREME_API Corpus read_lines(const std::string& path, const std::vector<std::string>& fields);
TRIREME_API Corpus read_running_text(const std::string& path);
// Any of these by what a command line calls it: "tatoeba/test", "pairs.tsv" with these fields, "book.txt". Errors: usage.
TRIREME_API Corpus open_corpus(const std::string& specification,
                               const std::vector<std::string>& fields);
// Whether it is one of these, by its name alone.
TRIREME_API bool names_corpus(const std::string& specification);

// --- From texts to examples ---------------------------------------------------------------------

// The tokens of a field; of Kind::bytes byte_vocabulary(), whatever the text. Errors: usage, if the corpus has no such
// field; data, as Vocabulary.
TRIREME_API text::Vocabulary vocabulary_of(const Corpus& corpus, const text::TokenOptions& tokens,
                                           const text::VocabularyOptions& options = {},
                                           std::string_view field = "text");

// Texts and their classes: "text", a ragged column of ids, and "label" i64[], the number of the class in
// `classes`, or, if that is empty, among the labels that there are, sorted.
// Errors: usage, if the corpus has no such fields; data, for a label that is no class.
TRIREME_API Dataset classified_texts(const Corpus& corpus, const text::Encoder& encoder,
                                     std::vector<std::string> classes = {});

// Texts and what is to be written for each, such as sentences and their translations, the fields "source" and "target",
// as three ragged columns of ids: "source", "previous", which is the target behind the token that begins a text, and
// "next", the target and the token that ends it.
// Errors: usage, if the corpus has no such fields, or the target's vocabulary no such tokens; data, as encode().
TRIREME_API Dataset translated_texts(const Corpus& corpus, const text::Encoder& source,
                                     const text::Encoder& target);

}  // namespace trireme::data
