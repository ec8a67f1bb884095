#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "session/job/node.h"
#include "trireme/data.h"
#include "trireme/text_data.h"

namespace trireme::job {

// How to split texts, and which tokens the vocabulary gets.
struct Cutting {
  text::TokenOptions tokens = {};
  text::VocabularyOptions vocabulary = {};
  std::optional<text::SubwordOptions> subwords =
      {};  // replaces tokens and vocabulary, except tokens.most
};

// [data] text: turns the texts of a corpus into examples. The fields of the corpus decide how:
// "label", "roles", "target", or otherwise one running text. The first corpus is the training
// corpus, which determines ids and classes.
class TextReader {
 public:
  // `text` may be null; the node must outlive this. `seed` determines random draws.
  // Columns with one of `encoders` use it; other encoders are made from the training corpus.
  TextReader(const Node* text, std::uint64_t seed,
             std::map<std::string, text::Encoder> encoders = {})
      : text_(text), seed_(seed), encoders_(std::move(encoders)) {}
  // Restores it from a saved model.
  TextReader(const Node* text, std::map<std::string, text::Encoder> encoders,
             std::vector<std::string> classes)
      : text_(text), encoders_(std::move(encoders)), classes_(std::move(classes)), known_(true) {}

  // Errors: data, and errors of the corpus, with the line of [data] text or of the node `named`.
  data::Dataset read(const data::Corpus& corpus, const Node* named = nullptr);

  // By column of ids; "target" for texts that the model writes.
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
  bool known_ = false;  // whether encoders and classes are known
};

}  // namespace trireme::job
