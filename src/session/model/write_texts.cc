#include <algorithm>

#include "base/error.h"
#include "trireme/ragged.h"
#include "trireme/saved_model.h"

namespace trireme {
namespace {

constexpr const char* kWritten = "target";

void write_batch(Model& model, const std::string& input, std::span<const std::string> texts,
                 std::vector<WrittenText>& written) {
  const text::Encoder &reads = model.text().at(input), &writes = model.text().at(kWritten);
  std::vector<std::vector<std::int64_t>> ids;
  for (const std::string& text : texts) ids.push_back(reads.encode(text));
  Feeds feeds;
  RaggedTensor::from(ids).add_to(feeds, input);
  const std::vector<Tensor> made = model.predict(feeds);
  const RaggedTensor tokens(made[0], made[1]);
  const Tensor scores = made[2].cast(f64);
  if (tokens.size() != static_cast<std::int64_t>(texts.size()) ||
      scores.elements() != tokens.size()) {
    fail_data("write_texts: the model wrote " + std::to_string(tokens.size()) + " texts with " +
              std::to_string(scores.elements()) + " scores for " + std::to_string(texts.size()));
  }
  for (std::int64_t i = 0; i < tokens.size(); ++i) {
    written.push_back(
        {writes.decode(tokens.sequence(i).to_vector<std::int64_t>()), scores.data<double>()[i]});
  }
}

}  // namespace

bool writes_texts(const Model& model) {
  const std::vector<Model::Port>&inputs = model.inputs(), &outputs = model.outputs();
  return outputs.size() == 3 && outputs[0].name == kWritten && model.text().contains(kWritten) &&
         inputs.size() == 2 && model.text().contains(inputs[0].name);
}

std::vector<WrittenText> write_texts(Model& model, const std::vector<std::string>& texts,
                                     std::int64_t batch) {
  if (!writes_texts(model)) {
    fail_usage("write_texts: " + model.name() +
               " writes no texts: that is a model with an input of texts and an output \"target\"");
  }
  if (batch < 1) fail_usage("write_texts: batch must be at least 1");
  std::vector<WrittenText> written;
  std::span<const std::string> left = texts;
  while (!left.empty()) {
    const std::size_t count = std::min(left.size(), static_cast<std::size_t>(batch));
    write_batch(model, model.inputs()[0].name, left.first(count), written);
    left = left.subspan(count);
  }
  return written;
}

}  // namespace trireme
