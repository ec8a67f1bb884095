// Whether a sentence speaks well of a film: words, an embedding, an LSTM over sentences of any length without
// padding, the largest of each of its states (sentence_polarity: Pang and Lee 2005).
//   sentence_lstm [--quick]

#include <cstring>
#include <iostream>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

// The sentences as ids, and 1 for those that speak well.
tr::data::Dataset as_numbers(const tr::data::Corpus& corpus,
                             const tr::text::Vocabulary& vocabulary) {
  std::vector<std::vector<std::int64_t>> sentences;
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < corpus.field("text").size(); ++i) {
    sentences.push_back(vocabulary.encode(tr::text::words(corpus.field("text")[i])));
    labels.push_back(corpus.field("label")[i] == "pos" ? 1 : 0);
  }
  const auto count = static_cast<std::int64_t>(labels.size());
  return tr::data::from_ragged({{"words", tr::RaggedTensor::from(sentences)}},
                               {{"label", tr::Tensor::from<std::int64_t>({count}, labels)}});
}

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  try {
    const tr::data::Corpus train = tr::data::sentence_polarity("train");
    tr::text::TokenCounts counts;
    for (const std::string& text : train.field("text")) {
      tr::text::count(tr::text::words(text), counts);
    }
    const tr::text::Vocabulary vocabulary(counts, {.min_count = 2});

    tr::Program program("sentence_lstm");
    tr::Value words = program.input("words", tr::i64, tr::ragged({tr::batch}));
    tr::Value label = program.input("label", tr::i64, {tr::batch});
    tr::Value x =
        nn::embedding(words, {.rows = vocabulary.size(), .width = 64, .sparse_gradient = true});
    x = tr::sequence::max(nn::lstm(nn::dropout(x, {.rate = 0.3}), {.units = 64}));
    tr::Value logits = nn::linear(nn::dropout(x), {.units = 2});
    tr::Value loss = mean(nn::cross_entropy(logits, label));

    tr::Trainer trainer(program, {.loss = loss,
                                  .optimizer = tr::Adam{.learning_rate = 1e-3f},
                                  .metrics = {tr::accuracy(logits, label)}});
    trainer.fit(as_numbers(train, vocabulary).shuffle(7).bucket_by_length(64),
                {.epochs = quick ? 1 : 6});
    const auto test = as_numbers(tr::data::sentence_polarity("test"), vocabulary);
    std::cout << "test accuracy: " << trainer.evaluate(test.batch(256))["accuracy"] << '\n';
    trainer.save("sentence_lstm", {.inputs = {words}, .outputs = {softmax(logits)}});
    vocabulary.save("sentence_lstm/vocabulary.txt");
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
