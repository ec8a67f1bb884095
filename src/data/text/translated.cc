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

Dataset translated_texts(const Corpus& corpus, const text::SubwordModel& source,
                         const text::SubwordModel& target) {
  const std::vector<std::string>&read = corpus.field("source"), &written = corpus.field("target");
  if (target.begin_id() < 0 || target.end_id() < 0) {
    fail_usage("translated_texts: the target's pieces have none that begins or ends a text");
  }
  Sentences sources, previous, next;
  for (std::size_t i = 0; i < read.size(); ++i) {
    sources.push_back(source.encode(read[i]));
    next.push_back(target.encode(written[i]));
    previous.push_back(next.back());
    previous.back().insert(previous.back().begin(), target.begin_id());
    next.back().push_back(target.end_id());
  }
  std::vector<std::pair<Column, Tensor>> columns;
  add(columns, "source", source.size(), sources);
  add(columns, "previous", target.size(), previous);
  add(columns, "next", target.size(), next);
  return from_columns(std::move(columns));
}

}  // namespace trireme::data
