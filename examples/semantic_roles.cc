// Who did what to whom: given a predicate, the roles of the other words, as PropBank names them. Two layers of
// LSTMs in both directions over words, parts of speech, distances to the predicate and what stands around it, below
// a conditional random field (propbank: the English Web Treebank; Zhou and Xu 2015). docs/tutorials/semantic_roles.md.
//   semantic_roles [--quick]

#include <algorithm>
#include <cstring>
#include <iostream>

#include <trireme/trireme.h>
namespace tr = trireme;
namespace nn = trireme::nn;
namespace sequence = trireme::sequence;
namespace text = trireme::text;

namespace {

using Ids = std::vector<std::int64_t>;

// "V" marks the predicate itself, which is given.
std::vector<std::string> roles_of(const std::string& line) {
  std::vector<std::string> roles = text::split(line);
  for (std::string& role : roles) {
    if (role.substr(1) == "-V") role.assign(1, 'O');
  }
  return roles;
}

std::string lower_case(std::string line) {
  for (char& c : line) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return line;
}

text::Vocabulary list_words(const tr::data::Corpus& corpus, const char* field,
                            std::int64_t min_count) {
  text::TokenCounts counts;
  for (const std::string& line : corpus.field(field)) {
    text::count(text::split(lower_case(line)), counts);
  }
  return text::Vocabulary(counts, {.min_count = min_count});
}

// "O", then B- and I- of each role, the most frequent ones of training first. Roles of the test alone are the last
// ones, so that they count as missed; of the others `learned` says how many labels have been seen often enough to be
// learned, since a random field costs the square of their number.
struct Roles {
  text::Vocabulary labels;
  std::int64_t learned;
};

Roles list_roles(const tr::data::Corpus& train, const tr::data::Corpus& test) {
  const auto count_into = [](text::TokenCounts& counts, const tr::data::Corpus& corpus) {
    for (const std::string& line : corpus.field("roles")) {
      for (const std::string& label : roles_of(line)) {
        if (label[0] == 'B') ++counts[label.substr(2)];
      }
    }
  };
  text::TokenCounts counts, others;
  count_into(counts, train);
  count_into(others, test);
  for (const auto& [role, count] : others) counts.try_emplace(role, 1);
  const text::Vocabulary roles(counts, {.unknown = "", .begin = "", .end = ""});
  std::vector<std::string> labels{"O"};
  for (const std::string& role : roles.tokens()) {
    labels.push_back("B-" + role);
    labels.push_back("I-" + role);
  }
  const auto often = std::count_if(roles.counts().begin(), roles.counts().end(),
                                   [](std::int64_t count) { return count >= 20; });
  return {text::Vocabulary::of(labels, {.unknown = "", .begin = "", .end = ""}), 1 + 2 * often};
}

struct Vocabularies {
  text::Vocabulary words, tags, roles;
};

tr::data::Dataset as_numbers(const tr::data::Corpus& corpus, const Vocabularies& known) {
  std::vector<Ids> words, tags, roles;
  Ids positions;
  for (std::size_t i = 0; i < corpus.field("words").size(); ++i) {
    const auto line = [&](const char* field) {
      return text::split(lower_case(corpus.field(field)[i]));
    };
    words.push_back(known.words.encode(line("words")));
    tags.push_back(known.tags.encode(line("tags")));
    roles.push_back(known.roles.encode(roles_of(corpus.field("roles")[i])));
    positions.push_back(std::stoll(corpus.field("position")[i]));
  }
  const auto count = static_cast<std::int64_t>(positions.size());
  return tr::data::from_ragged({{"words", tr::RaggedTensor::from(words)},
                                {"tags", tr::RaggedTensor::from(tags)},
                                {"roles", tr::RaggedTensor::from(roles)}},
                               {{"position", tr::Tensor::from<std::int64_t>({count}, positions)}});
}

// -1e4 where role j may not follow role i: an I- goes on with what its own role has begun.
tr::Tensor forbidden_pairs(const text::Vocabulary& roles, std::int64_t count) {
  tr::Tensor pairs(tr::f32, {count, count});
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < count; ++j) {
      const std::string &before = roles.token(i), &after = roles.token(j);
      const bool goes_on =
          after[0] != 'I' || (before[0] != 'O' && before.substr(1) == after.substr(1));
      pairs.data<float>()[i * count + j] = goes_on ? 0 : -1e4F;
    }
  }
  return pairs;
}

struct Inputs {
  tr::Value words, tags, position;
};

// The scores of all roles for each word.
tr::Value network(const Inputs& in, const Vocabularies& known, std::int64_t roles) {
  tr::Value word =
      nn::embedding(in.words, {.rows = known.words.size(), .width = 100, .sparse_gradient = true});
  tr::Value tag = nn::embedding(in.tags, {.rows = known.tags.size(), .width = 32});
  tr::Value embedded = nn::dropout(tr::concat({word, tag}, {.axis = 1}), {.rate = 0.3});
  // The predicate and its neighbours.
  tr::Value begins = slice(sequence::splits(in.words), {.starts = {0}, .limits = {tr::batch}});
  tr::Value last = sequence::lengths(in.words) - 1.0;
  std::vector<tr::Value> around;
  for (const double step : {-1.0, 0.0, 1.0}) {
    tr::Value place = minimum(maximum(in.position + step, 0.0), last);
    around.push_back(gather(embedded, begins + place));
  }
  tr::Value context =
      nn::linear(tr::concat(around, {.axis = 1}), {.units = 64, .activation = nn::tanh});
  // How far each word is from the predicate.
  const double most = 12;
  tr::Value distance = sequence::positions(in.words) - sequence::expand(in.position, in.words);
  tr::Value mark = nn::embedding(clamp(distance, -most, most) + most, {.rows = 25, .width = 16});

  tr::Value x = tr::concat({embedded, sequence::expand(context, in.words), mark}, {.axis = 1});
  x = nn::lstm(x, {.units = 128, .layers = 2, .bidirectional = true, .dropout = 0.3});
  return nn::linear(nn::dropout(x, {.rate = 0.3}), {.units = roles});
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const int epochs = quick ? 1 : 6;
  try {
    const tr::data::Corpus train = tr::data::propbank("train"), test = tr::data::propbank("test");
    const auto [roles, learned] = list_roles(train, test);
    const Vocabularies known{list_words(train, "words", 2), list_words(train, "tags", 1), roles};

    tr::Program program("semantic_roles");
    Inputs in;
    in.words = program.input("words", tr::i64, tr::ragged({tr::batch}));
    in.tags = program.input("tags", tr::i64, {in.words.dim(0)});
    in.position = program.input("position", tr::i64, {tr::batch});
    tr::Value right = program.input("roles", tr::i64, {in.words.dim(0)});
    tr::Value emissions = network(in, known, learned);
    nn::CrfScores scores = nn::crf_scores(emissions, {.name = "roles"});
    scores.transition =
        scores.transition +
        program.parameter("forbidden", tr::f32, {learned, learned}, {.trainable = false});
    tr::Value label = select(right < static_cast<double>(learned), right, 0.0);
    tr::Value loss = mean(nn::crf_loss(emissions, label, scores));
    tr::Value found = nn::crf_decode(emissions, scores).tags;

    tr::data::Dataset data = as_numbers(train, known), held_out = as_numbers(test, known);
    if (quick) data = data.shuffle(3).take(1000), held_out = held_out.take(300);
    const auto batches = data.shuffle(7).bucket_by_length(64, {.column = "words"});
    const tr::Adam optimizer{.learning_rate = tr::Schedule::cosine(2e-3, epochs * batches.size())};
    const tr::ChunkOptions chunks{.tags = roles.tokens()};
    tr::Value splits = sequence::splits(in.words);
    tr::Trainer trainer(program, {.loss = loss,
                                  .optimizer = optimizer,
                                  .metrics = {tr::chunk_f1(found, right, splits, chunks),
                                              tr::chunk_precision(found, right, splits, chunks),
                                              tr::chunk_recall(found, right, splits, chunks)}});
    trainer.session().set_parameter("forbidden", forbidden_pairs(roles, learned));
    const auto validation = held_out.bucket_by_length(128, {.column = "words"});
    trainer.fit(batches, {.epochs = epochs, .validation = &validation});
    std::cout << "test f1: " << trainer.evaluate(validation)["chunk_f1"] << '\n';
    trainer.save("semantic_roles",
                 {.inputs = {in.words, in.tags, in.position}, .outputs = {found}});
    known.words.save("semantic_roles/words.txt");
    known.tags.save("semantic_roles/tags.txt");
    roles.save("semantic_roles/roles.txt");
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
