// Translates English to French (Tatoeba) with one of two networks and beam search.
// gru: a bidirectional GRU encoder and a GRU decoder with attention (Bahdanau et al. 2015; the
// attention is that of Luong et al. 2015). transformer: a small Transformer (Vaswani et al. 2017).
// docs/tutorials/translation.md explains both.
//   translation [gru|transformer] [--quick]

#include <chrono>
#include <cmath>
#include <cstring>
#include <iostream>
#include <map>
#include <string>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;

constexpr std::int64_t kPieces = 3000;   // subwords of each language
constexpr std::int64_t kMaxPieces = 80;  // of a translation
constexpr double kDropout = 0.1;

struct Languages {
  tr::text::SubwordModel english, french;
};

struct Translator {
  tr::Program program{"translation"};
  tr::Value source = program.input("source", tr::i64, tr::ragged({tr::batch}));
  tr::Value previous = program.input("previous", tr::i64, tr::ragged({tr::batch}));
  tr::Value logits;     // scores of the next piece after each piece of `previous`
  nn::Decoder decoder;  // computes the same one piece at a time
};

// --- Gated recurrent units -----------------------------------------------------------------------

constexpr std::int64_t kEmbedding = 128, kHidden = 192;

tr::Value embed(const tr::Value& ids) {
  const nn::EmbeddingOptions table{
      .num_embeddings = kPieces, .dim = kEmbedding, .sparse_gradient = true};
  return nn::dropout(nn::embedding(ids, table), {.rate = kDropout});
}

struct Encoded {
  tr::Value states, keys, summary;
};

Encoded encode(const tr::Value& source) {
  const tr::Value states = nn::dropout(
      nn::gru(embed(source), {.units = kHidden / 2, .bidirectional = true}), {.rate = kDropout});
  return {states, nn::linear(states, {.units = kHidden, .bias = false}),
          nn::linear(tr::sequence::mean(states), {.units = kHidden, .activation = nn::tanh})};
}

// One step of the decoder: computes scores of the next piece from the previous one. Both training
// and generation run it.
tr::Value decode(const Encoded& source, nn::Step& step, const tr::Value& piece) {
  const tr::Value seen = step.static_input(source.states), keys = step.static_input(source.keys);
  const tr::Value h = step.state({.init = source.summary});
  const tr::Value match = sum(keys * tr::sequence::expand(h, keys), {.axes = {1}});
  const tr::Value weights = tr::sequence::softmax(match / std::sqrt(1.0 * kHidden));
  step.attention(weights);
  const tr::Value context =
      tr::sequence::sum(seen * broadcast(weights, {.shape = seen.shape(), .axes = {0}}));

  const tr::Value x = embed(piece);
  const tr::Value in = nn::linear(tr::concat({x, context}, {.axis = 1}), {.units = 3 * kHidden});
  const tr::Value from = nn::linear(h, {.units = 3 * kHidden, .bias = false});
  const auto part = [](const tr::Value& gates, std::int64_t i) {
    return slice(gates, {.starts = {0, i * kHidden}, .limits = {gates.dim(0), (i + 1) * kHidden}});
  };
  const tr::Value reset = nn::sigmoid(part(in, 0) + part(from, 0));
  const tr::Value keep = nn::sigmoid(part(in, 1) + part(from, 1));
  const tr::Value candidate = nn::tanh(part(in, 2) + reset * part(from, 2));
  const tr::Value next = candidate + keep * (h - candidate);
  step.update(h, next);

  const tr::Value read = nn::linear(tr::concat({next, context, x}, {.axis = 1}),
                                    {.units = kEmbedding, .activation = nn::tanh});
  return nn::linear(nn::dropout(read, {.rate = kDropout}), {.units = kPieces});
}

void build_gru(Translator& t) {
  Encoded source;
  {
    const auto scope = t.program.scope("encoder");
    source = encode(t.source);
  }
  t.decoder = [&t, source](nn::Step& step, const tr::Value& piece) {
    const auto scope = t.program.shared_scope("decoder");
    return decode(source, step, piece);
  };
  t.logits =
      nn::rnn([&](nn::Step& step) { step.output(t.decoder(step, step.input(t.previous))); })[0];
}

// --- A Transformer -------------------------------------------------------------------------------

constexpr std::int64_t kWidth = 128;

tr::Value embed(const tr::Value& ids, const tr::Value& positions) {
  const nn::EmbeddingOptions table{
      .num_embeddings = kPieces, .dim = kWidth, .sparse_gradient = true};
  const tr::Value x = nn::embedding(ids, table) * std::sqrt(1.0 * kWidth);
  return nn::dropout(nn::add_sinusoidal_positions(x, positions), {.rate = kDropout});
}

// Computes scores of the next pieces: for whole sentences, or in a step for one position of each.
tr::Value decode(const tr::Value& seen, const tr::Value& pieces, nn::Step* step) {
  tr::Value positions;
  if (step == nullptr) {
    positions = tr::sequence::positions(pieces);
  } else {
    positions = step->state({.dtype = tr::i64});
    step->update(positions, positions + 1.0);
  }
  const tr::Value x = nn::transformer_decoder(
      embed(pieces, positions), seen,
      {.layers = 3, .block = {.heads = 4, .dropout = kDropout, .step = step, .limit = kMaxPieces}});
  return nn::linear(x, {.units = kPieces});
}

void build_transformer(Translator& t) {
  tr::Value seen;
  {
    const auto scope = t.program.scope("encoder");
    seen = nn::transformer_encoder(embed(t.source, tr::sequence::positions(t.source)),
                                   {.layers = 3, .block = {.heads = 4, .dropout = kDropout}});
  }
  {
    const auto scope = t.program.shared_scope("decoder");
    t.logits = decode(seen, t.previous, nullptr);
  }
  t.decoder = [&t, seen](nn::Step& step, const tr::Value& piece) {
    const auto scope = t.program.shared_scope("decoder");
    return decode(step.static_input(seen), piece, &step);
  };
}

// --- Training and translating --------------------------------------------------------------------

nn::Hypotheses greedy_search(const Translator& t, const Languages& languages) {
  return nn::greedy_search(t.decoder, {.start = languages.french.begin_id(),
                                       .end = languages.french.end_id(),
                                       .limit = kMaxPieces,
                                       .over = tr::sequence::lengths(t.source)});
}

nn::Hypotheses beam_search(const Translator& t, const Languages& languages, double coverage) {
  return nn::beam_search(t.decoder, {.beam = 4,
                                     .start = languages.french.begin_id(),
                                     .end = languages.french.end_id(),
                                     .limit = kMaxPieces,
                                     .length_penalty = 1,
                                     .coverage = coverage,
                                     .over = tr::sequence::lengths(t.source)});
}

std::vector<std::string> translate(tr::Session& session, const nn::Hypotheses& found,
                                   const Languages& languages,
                                   const std::vector<std::string>& english) {
  std::vector<std::vector<std::int64_t>> source;
  for (const std::string& text : english) source.push_back(languages.english.encode(text));
  const auto data = tr::data::from_ragged({{"source", tr::RaggedTensor::from(source)}});
  std::vector<std::string> french;
  for (tr::data::Batch& batch : data.batch(100).epoch(0)) {
    const auto made = session.run(batch, {found.tokens, tr::sequence::splits(found.tokens)});
    const tr::RaggedTensor pieces(made[0], made[1]);
    for (std::int64_t i = 0; i < pieces.size(); ++i) {
      french.push_back(languages.french.decode(pieces.sequence(i).to_vector<std::int64_t>()));
    }
  }
  return french;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Every 30th pair.
tr::data::Corpus part_of(tr::data::Corpus corpus) {
  for (std::vector<std::string>& field : corpus.values) {
    for (std::size_t i = 0; 30 * i < field.size(); ++i) field[i] = field[30 * i];
    field.resize((field.size() + 29) / 30);
  }
  return corpus;
}

struct Recipe {
  void (*build)(Translator&);
  std::int64_t pieces;  // French pieces per batch
  int epochs;
  double rate;
  int warmup;
  double coverage;  // of beam search: weight of the score for attending to all of the source
};
const std::map<std::string, Recipe> kRecipes = {
    {"gru", {build_gru, 500, 12, 1.5e-3, 500, 0.1}},
    {"transformer", {build_transformer, 1000, 12, 2e-3, 1000, 0}},
};

void run(const Recipe& recipe, bool quick) {
  tr::data::Corpus train = tr::data::tatoeba("train"), test = tr::data::tatoeba("test");
  if (quick) train = part_of(train), test = part_of(test);
  const tr::text::SubwordOptions pieces{.size = kPieces, .fewer = quick};
  const Languages languages{tr::text::SubwordModel::train(train.field("source"), pieces),
                            tr::text::SubwordModel::train(train.field("target"), pieces)};

  Translator t;
  recipe.build(t);
  const tr::Value next = t.program.input("next", tr::i64, {t.previous.dim(0)});
  const tr::Value loss = mean(nn::cross_entropy(t.logits, next, {.label_smoothing = 0.1}));
  const nn::Hypotheses greedy = greedy_search(t, languages);
  const nn::Hypotheses beam = beam_search(t, languages, recipe.coverage);

  const auto batches = tr::data::translated_texts(train, tr::text::Encoder(languages.english),
                                                  tr::text::Encoder(languages.french))
                           .shuffle(7)
                           .batch_tokens(recipe.pieces, "previous");
  const int epochs = quick ? 1 : recipe.epochs;
  const std::int64_t steps = quick ? 20 : epochs * batches.size();
  const auto rate =
      tr::Schedule::cosine(recipe.rate, steps, recipe.rate / 30).warmup(recipe.warmup);
  tr::Trainer trainer(
      t.program,
      {.loss = loss, .optimizer = tr::Adam{.learning_rate = rate, .clip = {.global_norm = 1}}});
  const auto start = std::chrono::steady_clock::now();
  trainer.fit(batches, {.epochs = epochs, .max_steps = quick ? steps : 0});
  std::cout << "trained in: " << seconds_since(start) << " s\n";

  const std::vector<std::string>&english = test.field("source"), &french = test.field("target");
  for (const auto& [name, found] : {std::pair{"greedy", greedy}, std::pair{"beam 4", beam}}) {
    const auto began = std::chrono::steady_clock::now();
    const auto made = translate(trainer.session(), found, languages, english);
    const double seconds = seconds_since(began);
    for (std::size_t i = 0; i < 5; ++i) std::cout << english[i] << " -> " << made[i] << '\n';
    std::cout << name << " BLEU: " << tr::corpus_bleu(made, french).score << ", "
              << seconds * 1000 / static_cast<double>(made.size()) << " s for 1000 sentences\n";
  }
  trainer.save("translation",
               {.inputs = {t.source},
                .outputs = {beam.tokens, tr::sequence::splits(beam.tokens), beam.scores},
                .output_names = {"pieces", "splits", "scores"}});
  languages.english.save("translation/english.model");
  languages.french.save("translation/french.model");
}

int main(int argc, char** argv) {
  std::string network = "gru";
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) quick = true;
    else network = argv[i];
  }
  if (!kRecipes.contains(network)) {
    std::cerr << "usage: translation [gru|transformer] [--quick]\n";
    return 2;
  }
  try {
    run(kRecipes.at(network), quick);
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
