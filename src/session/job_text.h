#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "session/job_node.h"
#include "trireme/data.h"
#include "trireme/text_data.h"

namespace trireme::job {

// How texts are to be cut, and what of it becomes the vocabulary.
struct Cutting {
  text::TokenOptions tokens = {};
  text::VocabularyOptions vocabulary = {};
  std::optional<text::SubwordOptions> subwords =
      {};  // instead of tokens and vocabulary, but for tokens.most
};

// [data] text: how the texts of a corpus become examples, by what fields it has: "label", "roles", "target", or else one
// running text. The first corpus that is read is the training one: it says what the ids and classes are.
class TextReader {
 public:
  // `text` may be null; the node must outlive this. What is drawn at random is by `seed`.
  TextReader(const Node* text, std::uint64_t seed) : text_(text), seed_(seed) {}
  // As it is known of a saved model.
  TextReader(const Node* text, std::map<std::string, text::Encoder> encoders,
             std::vector<std::string> classes)
      : text_(text), encoders_(std::move(encoders)), classes_(std::move(classes)), known_(true) {}

  // Errors: data, and what the corpus throws, with the line of [data] text, or of what `named` the corpus.
  data::Dataset read(const data::Corpus& corpus, const Node* named = nullptr);

  // By column of ids; of texts that are to be written "target".
  const std::map<std::string, text::Encoder>& encoders() const { return encoders_; }

 private:
  data::Dataset read_examples(const data::Corpus& corpus);
  data::Dataset classified(const data::Corpus& corpus, Table& table);
  data::Dataset tagged(const data::Corpus& corpus, Table& table);
  data::Dataset running(const data::Corpus& corpus, Table& table);
  data::Dataset skip_grams(const data::Corpus& corpus, const Node& node);
  data::Dataset translated(const data::Corpus& corpus, Table& table);
  const text::Encoder& encoder(const data::Corpus& corpus, const std::string& column,
                               const std::string& field, const Cutting& cutting);

  const Node* text_;
  std::uint64_t seed_ = 1;
  std::map<std::string, text::Encoder> encoders_;
  std::vector<std::string> classes_;
  bool known_ = false;  // the encoders and classes are
};

}  // namespace trireme::job
