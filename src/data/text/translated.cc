// Pairs of texts to examples for a model that translates.

#include "base/error.h"
#include "data/columns.h"
#include "trireme/text_data.h"

namespace trireme::data {
namespace {

using Sentences = std::vector<std::vector<std::int64_t>>;

void add(std::vector<std::pair<Column, Tensor>>& columns, const std::string& name, std::int64_t ids,
         const Sentences& sentences) {
  const RaggedTensor ragged = RaggedTensor::from(sentences);
  columns.push_back({{.name = name, .shape = {}, .ids = ids}, ragged.rows()});
  columns.push_back({{.name = splits_name(name, 0, 1), .shape = {}}, ragged.splits()});
}

}  // namespace

Dataset translated_texts(const Corpus& corpus, const text::Encoder& source,
                         const text::Encoder& target) {
  const std::vector<std::string>&read = corpus.field("source"), &written = corpus.field("target");
  const std::int64_t begin = target.vocabulary.begin_id(), end = target.vocabulary.end_id();
  if (begin < 0 || end < 0) {
    fail_usage("translated_texts: the target has no tokens that begin and end a text");
  }
  Sentences sources, previous, next;
  for (std::size_t i = 0; i < read.size(); ++i) {
    sources.push_back(source.encode(read[i]));
    next.push_back(target.encode(written[i]));
    previous.push_back(next.back());
    previous.back().insert(previous.back().begin(), begin);
    next.back().push_back(end);
  }
  std::vector<std::pair<Column, Tensor>> columns;
  add(columns, "source", source.vocabulary.size(), sources);
  add(columns, "previous", target.vocabulary.size(), previous);
  add(columns, "next", target.vocabulary.size(), next);
  return from_columns(std::move(columns));
}

}  // namespace trireme::data
