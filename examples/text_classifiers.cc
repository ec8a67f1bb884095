// Four classic text classifiers on film reviews: logistic regression over words and word pairs, the
// mean of embeddings, a convolution and an LSTM.
// Data: sentence_polarity and movie_reviews (Pang and Lee 2005 and 2004).
//   text_classifiers [logistic | mean | convolution | lstm] [DATA] [--quick]
// docs/tutorials/text_classifiers.md lists their accuracy; jobs/text_*.toml are the same as jobs.

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

struct Recipe {
  tr::text::TokenOptions tokens;
  std::int64_t min_count;
  float learning_rate;
  int epochs;
};

// Computes scores of the two classes, [batch, 2], from the packed word ids of texts.
tr::Value network(const std::string& name, const tr::Value& words, std::int64_t vocabulary) {
  if (name == "logistic") {  // the sum of one weight for each word and class
    return tr::sequence::sum(nn::embedding(words, {.num_embeddings = vocabulary,
                                                   .dim = 2,
                                                   .weight_init = nn::zeros(),
                                                   .sparse_gradient = true}));
  }
  tr::Value x =
      nn::embedding(words, {.num_embeddings = vocabulary, .dim = 64, .sparse_gradient = true});
  if (name == "mean") {
    x = tr::sequence::mean(x);
  } else if (name == "convolution") {
    x = nn::sequence_conv(nn::dropout(x, {.rate = 0.3}),
                          {.units = 128, .kernel = 3, .activation = nn::relu});
    x = tr::sequence::max(x);
  } else {
    x = tr::sequence::max(nn::lstm(nn::dropout(x, {.rate = 0.3}), {.units = 64}));
  }
  return nn::linear(nn::dropout(x), {.units = 2});
}

Recipe recipe_of(const std::string& name, bool reviews) {
  const std::int64_t max_tokens = reviews ? 1000 : 0;  // 0: no limit
  if (name == "logistic") return {{.grams = 2, .distinct = true}, 2, 1e-2f, 4};
  if (name == "mean") return {{.grams = 2}, 2, 2e-3f, reviews ? 20 : 8};
  if (name == "convolution") return {{.max_tokens = max_tokens}, 2, 1e-3f, reviews ? 12 : 7};
  return {{.max_tokens = max_tokens}, 2, 1e-3f, reviews ? 12 : 6};
}

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool quick = std::erase(words, "--quick") > 0;
  const std::string name = words.empty() ? "convolution" : words[0];
  const std::string corpus = words.size() < 2 ? "sentence_polarity" : words[1];
  const std::vector<std::string> known{"logistic", "mean", "convolution", "lstm"};
  if (words.size() > 2 || std::find(known.begin(), known.end(), name) == known.end()) {
    std::cerr << "usage: text_classifiers [logistic | mean | convolution | lstm] "
                 "[sentence_polarity | movie_reviews] [--quick]\n";
    return 2;
  }
  try {
    const Recipe recipe = recipe_of(name, corpus == "movie_reviews");
    const tr::data::Corpus texts = tr::data::open_text(corpus + "/train");
    const tr::text::Encoder encoder{
        recipe.tokens,
        tr::data::vocabulary_of(texts, recipe.tokens, {.min_count = recipe.min_count})};
    tr::data::Dataset train = tr::data::classified_texts(texts, encoder);
    const tr::data::Dataset test =
        tr::data::classified_texts(tr::data::open_text(corpus + "/test"), encoder);
    if (quick) train = train.shuffle(1).take(256).unshuffled();

    tr::Program program("text_" + name);
    tr::Value text = program.input("text", tr::i64, tr::ragged({tr::batch}));
    tr::Value label = program.input("label", tr::i64, {tr::batch});
    tr::Value logits = network(name, text, encoder.vocabulary.size());
    tr::Value loss = mean(nn::cross_entropy(logits, label));
    tr::Trainer trainer(program, {.loss = loss,
                                  .optimizer = tr::Adam{.learning_rate = recipe.learning_rate},
                                  .metrics = {tr::accuracy(logits, label)}});
    trainer.fit(train.shuffle(1).bucket_by_length(32), {.epochs = quick ? 1 : recipe.epochs});
    std::cout << "test accuracy: " << trainer.evaluate(test.batch(128))["accuracy"] << '\n';
    trainer.save("text_" + name, {.outputs = {softmax(logits)},
                                  .output_names = {"scores"},
                                  .labels = train.class_names(),
                                  .text = {{"text", encoder}},
                                  .target = "label"});
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
