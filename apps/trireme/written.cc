#include "written.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "prediction_file.h"
#include "predictions.h"
#include "support.h"
#include "trireme/sequence_metrics.h"
#include "trireme/text_data.h"

namespace commands {
namespace {

namespace tr = trireme;
using Json = nlohmann::ordered_json;
using Texts = std::vector<std::string>;

Texts part_of(const Texts& all, RowRange rows) {
  return {all.begin() + rows.begin, all.begin() + rows.end};
}

Texts texts_to_read(const PredictArguments& arguments) {
  if (!arguments.data.empty()) {
    const Texts all = open_pairs(arguments.data).source;
    return part_of(all, rows_to_predict(arguments, static_cast<std::int64_t>(all.size())));
  }
  Texts texts;
  for (const std::string& path : arguments.files) texts.push_back(tr::text::read(path));
  texts.insert(texts.end(), arguments.texts.begin(), arguments.texts.end());
  return texts;
}

}  // namespace

TextPairs open_pairs(const std::string& specification, std::int64_t limit) {
  const tr::data::Corpus corpus = tr::data::open_corpus(specification, {"source", "target"});
  RowRange all{0, corpus.size()};
  if (limit > 0) all.end = std::min(all.end, limit);
  return {part_of(corpus.field("source"), all), part_of(corpus.field("target"), all)};
}

double bleu_of(tr::Model& model, const TextPairs& pairs, std::int64_t batch) {
  Texts written;
  for (auto& result : tr::write_texts(model, pairs.source, batch)) {
    written.push_back(std::move(result.text));
  }
  return tr::corpus_bleu(written, pairs.target).score;
}

void eval_texts(tr::Model& model, const EvalArguments& arguments) {
  const TextPairs pairs = open_pairs(arguments.data, arguments.limit);
  const double bleu = bleu_of(model, pairs, arguments.batch);
  if (arguments.json) {
    const Json json = {{"model", arguments.model},
                       {"data", arguments.data},
                       {"examples", pairs.source.size()},
                       {"bleu", bleu}};
    std::printf("%s\n", json_text(json, 2).c_str());
  } else {
    std::printf("bleu: %.2f  (%zu examples)\n", bleu, pairs.source.size());
  }
}

namespace {

Predictions predict_part(tr::Model& model, const Texts& read, int digits) {
  const std::vector<tr::WrittenText> written = tr::write_texts(model, read);
  Predictions predictions{{"text", "written", "score"}};
  for (std::size_t i = 0; i < read.size(); ++i) {
    char score[32];
    std::snprintf(score, sizeof score, "%.*f", digits, written[i].score);
    predictions.json.push_back(
        {{"example", read[i]}, {"written", written[i].text}, {"score", written[i].score}});
    predictions.rows.push_back({read[i], written[i].text, score});
  }
  return predictions;
}

}  // namespace

void predict_texts(tr::Model& model, const PredictArguments& arguments) {
  const Texts read = texts_to_read(arguments);
  if (arguments.output.empty()) return print(predict_part(model, read, 3), arguments.json);
  const auto count = static_cast<std::int64_t>(read.size());
  PredictionFile file(arguments.output, count);
  for (std::int64_t at = 0; at < count; at += arguments.batch) {
    const auto end = std::min(at + arguments.batch, count);
    file.add(predict_part(model, {read.begin() + at, read.begin() + end}, 6));
  }
  file.finish();
}

}  // namespace commands
