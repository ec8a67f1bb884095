// Word vectors from running text (WikiText-2: Merity et al. 2016), in three ways.
//   word_embeddings ngram     a language model: predicts a word from four (Bengio et al. 2003)
//   word_embeddings negative  skip-gram with negative sampling (Mikolov et al. 2013)
//   word_embeddings tree      skip-gram with hierarchical softmax over a Huffman tree (the same)
// Each takes --quick as a second argument. docs/tutorials/word_embeddings.md lists their results.

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;
namespace text = trireme::text;

using Ids = std::vector<std::int64_t>;

struct Text {
  text::Vocabulary vocabulary;
  Ids train, test;
};

// The corpus has a validation part and a test part. Training uses the validation part.
Text read_text() {
  const auto tokens = [](const char* part) {
    return text::split(tr::data::wikitext2(part).field("text")[0]);
  };
  const std::vector<std::string> train = tokens("validation");
  text::TokenCounts counts;
  text::count(train, counts);
  text::Vocabulary vocabulary(counts, {.min_count = 5, .begin = "", .end = ""});
  Ids train_ids = vocabulary.encode(train), test_ids = vocabulary.encode(tokens("test"));
  return {std::move(vocabulary), std::move(train_ids), std::move(test_ids)};
}

tr::Value table(tr::Program& program, const char* name, std::int64_t rows, std::int64_t width,
                double stddev) {
  return program.parameter(name, tr::f32, {rows, width},
                           {.initializer = stddev > 0 ? nn::normal(0, stddev) : nn::zeros()});
}

// Prints the words with the largest cosine similarity to a few words.
void print_neighbours(const tr::Tensor& vectors, const text::Vocabulary& vocabulary) {
  const std::int64_t count = vectors.dim(0), width = vectors.dim(1);
  const auto dot = [&](std::int64_t a, std::int64_t b) {
    const float* x = vectors.data<float>();
    double total = 0;
    for (std::int64_t k = 0; k < width; ++k) total += x[a * width + k] * x[b * width + k];
    return total;
  };
  for (const char* word : {"river", "album", "king", "June", "three"}) {
    if (!vocabulary.contains(word)) continue;
    const std::int64_t own = vocabulary.id(word);
    std::vector<std::pair<double, std::int64_t>> near;
    for (std::int64_t id = 0; id < count; ++id) {
      if (id != own) near.emplace_back(-dot(own, id) / std::sqrt(dot(id, id) * dot(own, own)), id);
    }
    std::partial_sort(near.begin(), near.begin() + 5, near.end());
    std::cout << word << ':';
    for (int i = 0; i < 5; ++i)
      std::cout << ' ' << vocabulary.token(near[static_cast<std::size_t>(i)].second);
    std::cout << '\n';
  }
}

void learn_ngrams(const Text& text, bool quick) {
  constexpr std::int64_t kWords = 5, kWidth = 64;
  const auto samples = [&](const Ids& ids) {
    const text::Ngrams grams = text::ngrams(ids, kWords);
    return tr::data::from_tensors({{"context", grams.context}, {"next", grams.next}});
  };
  tr::Program program("ngram");
  tr::Value context = program.input("context", tr::i64, {tr::batch, kWords - 1});
  tr::Value next = program.input("next", tr::i64, {tr::batch});
  const std::int64_t words = text.vocabulary.size();
  tr::Value x = nn::embedding(
      context, {.num_embeddings = words, .dim = kWidth, .sparse_gradient = true, .name = "words"});
  x = nn::linear(nn::dropout(nn::flatten(x), {.rate = 0.2}),
                 {.units = 128, .activation = nn::tanh});
  tr::Value logits = nn::linear(nn::dropout(x, {.rate = 0.4}), {.units = words});
  tr::Value loss = mean(nn::cross_entropy(logits, next));
  tr::Trainer trainer(program, {.loss = loss, .optimizer = tr::Adam{.learning_rate = 1e-3f}});
  tr::data::Dataset train = samples(text.train);
  if (quick) train = train.take(4096);
  trainer.fit(train.shuffle(1).batch(256), {.epochs = quick ? 1 : 5});
  const tr::data::Dataset test = samples(text.test);
  const double measured = trainer.evaluate((quick ? test.take(2048) : test).batch(512))["loss"];
  std::cout << "test perplexity: " << std::exp(measured) << '\n';
  print_neighbours(trainer.session().parameter("words.weight"), text.vocabulary);
}

// Pairs of a word and a word near it. Each epoch samples other pairs.
tr::data::Batch pairs_of(const Text& text, const Ids& ids, std::int64_t epoch, std::int64_t noise) {
  const Ids& counts = text.vocabulary.counts();
  const text::SkipGrams pairs =
      text::skip_grams(ids, counts, {.window = 5, .subsample = 1e-3, .seed = 1, .epoch = epoch});
  tr::data::Batch batch{{"center", pairs.center}, {"context", pairs.context}};
  if (noise > 0) {
    batch["noise"] =
        text::draw(text::noise_distribution(counts), {pairs.center.dim(0), noise}, 1, epoch);
  }
  return batch;
}

// Trains on new pairs in every epoch. `print` gets the metrics of the test pairs after each epoch.
void learn_pairs(const Text& text, tr::Program& program, const tr::TrainerOptions& options,
                 std::int64_t noise, bool quick, const std::function<void(tr::Trainer&)>& begin,
                 const std::function<void(const tr::Metrics&)>& print) {
  tr::Trainer trainer(program, options);
  begin(trainer);
  const auto first = [&](const Ids& ids, std::ptrdiff_t count) {
    return quick ? Ids(ids.begin(), ids.begin() + count) : ids;
  };
  const Ids train = first(text.train, 4000);
  const auto test = tr::data::from_tensors(pairs_of(text, first(text.test, 2000), 0, noise));
  for (std::int64_t epoch = 0; epoch < (quick ? 1 : 5); ++epoch) {
    const auto pairs = tr::data::from_tensors(pairs_of(text, train, epoch, noise));
    trainer.fit(pairs.shuffle(static_cast<std::uint64_t>(epoch)).batch(512), {.epochs = 1});
    print(trainer.evaluate(test.batch(4096)));
  }
  print_neighbours(trainer.session().parameter("words"), text.vocabulary);
}

void learn_with_noise(const Text& text, bool quick) {
  constexpr std::int64_t kNoise = 5, kWidth = 100;
  const std::int64_t count = text.vocabulary.size();
  tr::Program program("skip_gram_negative");
  tr::Value center = program.input("center", tr::i64, {tr::batch});
  tr::Value context = program.input("context", tr::i64, {tr::batch});
  tr::Value noise = program.input("noise", tr::i64, {tr::batch, kNoise});
  const tr::Value words = table(program, "words", count, kWidth, 0.05);
  const tr::Value others = table(program, "contexts", count, kWidth, 0);
  tr::Value x = gather(words, center, {.sparse_gradient = true});
  // The true context word first, then the noise words: [batch, 1 + kNoise].
  tr::Value near = tr::concat({unsqueeze(context, 1), noise}, {.axis = 1});
  tr::Value y = gather(others, near, {.sparse_gradient = true});
  tr::Value scores = sum(y * unsqueeze(x, 1), {.axes = {2}});
  tr::Value positive = slice(scores, {.starts = {0, 0}, .limits = {tr::batch, 1}});
  tr::Value negative = slice(scores, {.starts = {0, 1}, .limits = {tr::batch, 1 + kNoise}});
  tr::Value loss = mean(nn::softplus(-positive)) + mean(sum(nn::softplus(negative), {.axes = {1}}));
  // The fraction of noise words with a smaller score than the true word.
  tr::Value better = mean(cast(negative < positive, {.dtype = tr::f32}), {.axes = {1}});
  learn_pairs(
      text, program,
      {.loss = loss,
       .optimizer = tr::Adam{.learning_rate = 1e-3f},
       .metrics = {tr::mean_of("better", better)}},
      kNoise, quick, [](tr::Trainer&) {},
      [](const tr::Metrics& m) { std::cout << "test pairs above noise: " << m["better"] << '\n'; });
}

void learn_with_tree(const Text& text, bool quick) {
  constexpr std::int64_t kWidth = 100;
  const Ids& counts = text.vocabulary.counts();
  const nn::ClassTree tree = nn::huffman_tree({counts.begin(), counts.end()});
  tr::Program program("skip_gram_tree");
  tr::Value center = program.input("center", tr::i64, {tr::batch});
  tr::Value context = program.input("context", tr::i64, {tr::batch});
  const tr::Value words = table(program, "words", text.vocabulary.size(), kWidth, 0.05);
  const tr::Value nodes = table(program, "nodes", tree.nodes, kWidth, 0);
  const tr::Value bias = program.parameter("bias", tr::f32, {tree.nodes});
  const tr::Shape shape(tree.path.shape().begin(), tree.path.shape().end());
  const tr::Value path = program.parameter("path", tr::i64, shape, {.trainable = false});
  const tr::Value code = program.parameter("code", tr::i64, shape, {.trainable = false});
  tr::Value x = gather(words, center, {.sparse_gradient = true});
  tr::Value loss =
      mean(nn::hierarchical_softmax(x, context, nodes, bias, {.path = path, .code = code}));
  learn_pairs(
      text, program, {.loss = loss, .optimizer = tr::Adam{.learning_rate = 1e-3f}}, 0, quick,
      [&](tr::Trainer& trainer) {
        trainer.session().set_parameter("path", tree.path);
        trainer.session().set_parameter("code", tree.code);
      },
      [](const tr::Metrics& m) {
        std::cout << "test perplexity of pairs: " << std::exp(m["loss"]) << '\n';
      });
}

int main(int argc, char** argv) {
  const std::string method = argc > 1 ? argv[1] : "";
  const bool quick = argc > 2 && std::string(argv[2]) == "--quick";
  try {
    const auto learn = method == "ngram"      ? learn_ngrams
                       : method == "negative" ? learn_with_noise
                       : method == "tree"     ? learn_with_tree
                                              : nullptr;
    if (learn == nullptr) {
      std::cerr << "usage: word_embeddings ngram | negative | tree [--quick]\n";
      return 2;
    }
    learn(read_text(), quick);
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
