// A language model of characters: two LSTMs read a text (Tiny Shakespeare) and predict the next
// character after each one. Then new text is sampled from the model.
// docs/tutorials/character_model.md explains it.
//   character_model [--quick]

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

constexpr std::int64_t kCharacters = 256, kUnits = 384, kLength = 256;
constexpr double kDropout = 0.4;

using Ids = std::vector<std::int64_t>;

// The text in pieces of `length` characters: "now" holds the characters, "next" the one after each.
tr::data::Dataset split_into_pieces(const Ids& text, std::int64_t length) {
  const auto count = static_cast<std::int64_t>(text.size()) - 1;
  std::vector<Ids> now, next;
  for (std::int64_t begin = 0; begin < count; begin += length) {
    const auto from = text.begin() + begin, to = text.begin() + std::min(begin + length, count);
    now.emplace_back(from, to);
    next.emplace_back(from + 1, to + 1);
  }
  return tr::data::from_ragged(
      {{"now", tr::RaggedTensor::from(now)}, {"next", tr::RaggedTensor::from(next)}});
}

struct Model {
  tr::Program program{"character_model"};
  tr::Value now = program.input("now", tr::i64, tr::ragged({tr::batch}));
  tr::Value next = program.input("next", tr::i64, {now.dim(0)});

  // Training runs the layers one after another, each over whole texts. Generation runs both layers
  // at each step. Equal names make both use the same parameters.
  tr::Value embed(const tr::Value& character) {
    return nn::embedding(character,
                         {.num_embeddings = kCharacters, .dim = 64, .name = "characters"});
  }
  tr::Value layer(nn::Step& step, const tr::Value& x, const char* name) {
    const nn::LstmState before{step.state({.width = kUnits}), step.state({.width = kUnits})};
    const nn::LstmState after = nn::lstm_cell(x, before, {.units = kUnits, .name = name});
    step.update(before.h, after.h);
    step.update(before.c, after.c);
    return nn::dropout(after.h, {.rate = kDropout});
  }
  tr::Value logits(const tr::Value& x) {
    return nn::linear(x, {.units = kCharacters, .name = "logits"});
  }

  tr::Value losses() {
    const auto scope = program.shared_scope("model");
    tr::Value x = embed(now);
    for (const char* name : {"first", "second"}) {
      x = nn::rnn([&](nn::Step& step) { step.output(layer(step, step.input(x), name)); })[0];
    }
    return nn::cross_entropy(logits(x), next);
  }

  nn::Hypotheses samples(std::int64_t count) {
    const nn::Decoder decoder = [this](nn::Step& step, const tr::Value& character) {
      const auto scope = program.shared_scope("model");
      return logits(layer(step, layer(step, embed(character), "first"), "second"));
    };
    return nn::sample(decoder, {.temperature = 0.8,
                                .start = '\n',
                                .end = 0,
                                .limit = count,
                                .over = tr::sequence::lengths(now)});
  }
};

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  try {
    const auto read = [](const char* part) {
      return tr::text::bytes(tr::data::tiny_shakespeare(part).field("text")[0]);
    };
    Ids train = read("train"), test = read("test");
    if (quick) train.resize(20'000), test.resize(4'000);
    Model model;
    const tr::Value losses = model.losses(), loss = mean(losses);
    const nn::Hypotheses samples = model.samples(quick ? 20 : 400);

    const auto batches = split_into_pieces(train, kLength).shuffle(7).batch(16);
    const int epochs = 20;
    const std::int64_t steps = quick ? 5 : epochs * batches.size();
    tr::Trainer trainer(
        model.program,
        {.loss = loss,
         .optimizer = tr::Adam{.learning_rate = tr::Schedule::cosine(2e-3, steps, 1e-4).warmup(100),
                               .clip = {.global_norm = 1}}});
    trainer.fit(batches, {.epochs = epochs, .max_steps = quick ? steps : 0});

    // Tests on long pieces, since more context makes the next character easier to predict.
    double total = 0;
    std::int64_t count = 0;
    for (tr::data::Batch& batch : split_into_pieces(test, 2048).batch(64).epoch(0)) {
      batch.erase("next.splits");  // the same as those of "now"
      const tr::Tensor batch_losses = trainer.session().run(batch, {losses})[0];
      for (const float value : batch_losses.to_vector<float>()) total += value;
      count += batch_losses.elements();
    }
    tr::Feeds start;
    tr::RaggedTensor::from(std::vector<Ids>{{'\n'}}).add_to(start, "now");
    std::cout << tr::text::from_bytes(
                     trainer.session().run(start, {samples.tokens})[0].to_vector<std::int64_t>())
              << "\ntest nats per character: " << total / static_cast<double>(count) << '\n';
    trainer.save("character_model", {.inputs = {model.now}, .outputs = {samples.tokens}});
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
