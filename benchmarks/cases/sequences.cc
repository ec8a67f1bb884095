// Cases with ragged sequences. Lengths are uniform between the minimum and the maximum.

#include <cmath>
#include <utility>

#include "case.h"

namespace bench {
namespace {

constexpr std::int64_t kWords = 10'000;

std::vector<std::int64_t> lengths(std::int64_t count, std::int64_t min, std::int64_t max,
                                  std::uint64_t seed) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < count; ++i) {
    const float u = uniform(seed, static_cast<std::uint64_t>(i));
    result.push_back(min + static_cast<std::int64_t>(u * static_cast<float>(max - min + 1)));
  }
  return result;
}

tr::Tensor splits_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> splits{0};
  for (const std::int64_t length : lengths) splits.push_back(splits.back() + length);
  return tr::Tensor::from<std::int64_t>({static_cast<std::int64_t>(splits.size())}, splits);
}

std::int64_t last(const tr::Tensor& splits) {
  return splits.data<std::int64_t>()[splits.elements() - 1];
}

// --- Sentiment: the last state of an LSTM of 128 over an embedding of 128 ------------------------

// An LSTM as a custom step.
tr::Value custom_lstm(const tr::Value& x, std::int64_t units) {
  auto [states] = nn::rnn([&](nn::Step& step) {
    const tr::Value now = step.input(x);
    const tr::Value h = step.state({.width = units}), c = step.state({.width = units});
    const tr::Value gates = nn::linear(tr::concat({now, h}, {.axis = 1}), {.units = 4 * units});
    const auto gate = [&](std::int64_t i) {
      return slice(gates, {.starts = {0, i * units}, .limits = {gates.dim(0), (i + 1) * units}});
    };
    const tr::Value cell =
        nn::sigmoid(gate(1) + 1.0) * c + nn::sigmoid(gate(0)) * nn::tanh(gate(2));
    const tr::Value next = nn::sigmoid(gate(3)) * nn::tanh(cell);
    step.update(h, next);
    step.update(c, cell);
    step.output(next);
  });
  return states;
}

Case sentiment(bool custom) {
  Case c{.program = tr::Program("sentiment")};
  const tr::Value words = c.program.input("words", tr::i64, tr::ragged({tr::batch}));
  const tr::Value label = c.program.input("label", tr::i64, {tr::batch});
  const tr::Value x = nn::embedding(words, {.num_embeddings = kWords, .dim = 128});
  const tr::Value states = custom ? custom_lstm(x, 128) : nn::lstm(x, {.units = 128});
  const tr::Value logits = nn::linear(tr::sequence::last(states), {.units = 2});
  c.loss = mean(nn::cross_entropy(logits, label));
  c.optimizer = tr::Adam{.learning_rate = 1e-3};
  for (std::uint64_t i = 0; i < 8; ++i) {
    const tr::Tensor splits = splits_of(lengths(64, 10, 200, i));
    tr::Feeds feeds{{"label", labels(64, 200 + i, 2)}};
    tr::RaggedTensor(labels(last(splits), 100 + i, kWords), splits).add_to(feeds, "words");
    c.batches.push_back(std::move(feeds));
  }
  return c;
}

// --- Translation: GRUs of 256 with additive attention (Bahdanau et al. 2014) ---------------------

constexpr std::int64_t kPieces = 2'000, kHidden = 256;

// Logits of the next word, for each word of `target`.
tr::Value translate(const tr::Value& source, const tr::Value& target) {
  const tr::Value encoded =
      nn::gru(nn::embedding(source, {.num_embeddings = kPieces, .dim = kHidden, .name = "source"}),
              {.units = kHidden});
  const tr::Value keys = nn::linear(encoded, {.units = kHidden, .bias = false, .name = "keys"});
  const tr::Value embedded =
      nn::embedding(target, {.num_embeddings = kPieces, .dim = kHidden, .name = "target"});
  const tr::Value first =
      nn::tanh(nn::linear(tr::sequence::last(encoded), {.units = kHidden, .name = "first"}));
  auto [states] = nn::rnn([&](nn::Step& step) {
    const tr::Value now = step.input(embedded);
    const tr::Value seen = step.static_input(encoded), key = step.static_input(keys);
    const tr::Value h = step.state({.init = first});
    const tr::Value query = nn::linear(h, {.units = kHidden, .name = "query"});
    const tr::Value score = nn::linear(nn::tanh(key + tr::sequence::expand(query, key)),
                                       {.units = 1, .bias = false, .name = "score"});
    const tr::Value weights = tr::sequence::softmax(score);
    const tr::Value context =
        tr::sequence::sum(seen * broadcast(reshape(weights, {.shape = {seen.dim(0)}}),
                                           {.shape = seen.shape(), .axes = {0}}));
    const tr::Value next =
        nn::gru_cell(tr::concat({now, context}, {.axis = 1}), h, {.units = kHidden});
    step.update(h, next);
    step.output(next);
  });
  return nn::linear(states, {.units = kPieces, .name = "logits"});
}

Case translation() {
  Case c{.program = tr::Program("translation")};
  const tr::Value source = c.program.input("source", tr::i64, tr::ragged({tr::batch}));
  const tr::Value target = c.program.input("target", tr::i64, tr::ragged({tr::batch}));
  const tr::Value next = c.program.input("next", tr::i64, {target.dim(0)});
  c.loss = mean(nn::cross_entropy(translate(source, target), next));
  c.optimizer = tr::Adam{.learning_rate = 1e-3};
  for (std::uint64_t i = 0; i < 8; ++i) {
    const tr::Tensor from = splits_of(lengths(32, 20, 50, i));
    const tr::Tensor to = splits_of(lengths(32, 20, 50, 50 + i));
    tr::Feeds feeds{{"next", labels(last(to), 300 + i, kPieces)}};
    tr::RaggedTensor(labels(last(from), 100 + i, kPieces), from).add_to(feeds, "source");
    tr::RaggedTensor(labels(last(to), 200 + i, kPieces), to).add_to(feeds, "target");
    c.batches.push_back(std::move(feeds));
  }
  return c;
}

// --- Documents: an LSTM over the words of each sentence, another over the sentences --------------

Case documents() {
  Case c{.program = tr::Program("documents")};
  const tr::Value words =
      c.program.input("words", tr::i64, tr::ragged({tr::batch, tr::Dim("sentences")}));
  const tr::Value label = c.program.input("label", tr::i64, {tr::batch});
  const tr::Value x = nn::embedding(words, {.num_embeddings = kWords, .dim = 128});
  const tr::Value sentences = tr::sequence::last(nn::lstm(x, {.units = 128}));
  const tr::Value documents = tr::sequence::last(nn::lstm(sentences, {.units = 128}));
  c.loss = mean(nn::cross_entropy(nn::linear(documents, {.units = 2}), label));
  c.optimizer = tr::Adam{.learning_rate = 1e-3};
  for (std::uint64_t i = 0; i < 8; ++i) {
    const tr::Tensor outer = splits_of(lengths(16, 3, 30, i));
    const tr::Tensor inner = splits_of(lengths(last(outer), 3, 40, 50 + i));
    tr::Feeds feeds{{"label", labels(16, 200 + i, 2)}};
    const std::vector<tr::Tensor> splits{outer, inner};
    tr::RaggedTensor(labels(last(inner), 100 + i, kWords), splits).add_to(feeds, "words");
    c.batches.push_back(std::move(feeds));
  }
  return c;
}

}  // namespace

Case make_sequences(const std::string& name) {
  if (name == "sentiment") return sentiment(false);
  if (name == "own_lstm") return sentiment(true);
  if (name == "translation") return translation();
  if (name == "documents") return documents();
  return {.program = tr::Program("none")};
}

}  // namespace bench
