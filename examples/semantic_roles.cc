// Semantic role labelling: given a predicate, predicts the PropBank roles of the other words: who
// did what to whom. Two bidirectional LSTM layers read words, part-of-speech tags, distances to the
// predicate, and the predicate with its neighbors. A conditional random field predicts the roles
// (Zhou and Xu 2015; data: PropBank on the English Web Treebank).
// docs/tutorials/semantic_roles.md explains it.
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

// The roles of a sentence without "V", which marks the predicate: an input, not a result.
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

text::Vocabulary count_words(const tr::data::Corpus& corpus, const char* field,
                             std::int64_t min_count) {
  text::TokenCounts counts;
  for (const std::string& line : corpus.field(field)) {
    text::count(text::split(lower_case(line)), counts);
  }
  return text::Vocabulary(counts, {.min_count = min_count});
}

// `labels` are "O", then B- and I- of each role, ordered by their count in training, the largest
// first. Roles that only the test has come last, so that they count as errors. The first `learned`
// labels are frequent enough to learn: the cost of a random field grows with their square.
struct Roles {
  text::Vocabulary labels;
  std::int64_t learned;
};

Roles count_roles(const tr::data::Corpus& train, const tr::data::Corpus& test) {
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
  const auto frequent = std::count_if(roles.counts().begin(), roles.counts().end(),
                                      [](std::int64_t count) { return count >= 20; });
  return {text::Vocabulary::of(labels, {.unknown = "", .begin = "", .end = ""}), 1 + 2 * frequent};
}

struct Vocabularies {
  text::Vocabulary words, tags, roles;
};

tr::data::Dataset encode(const tr::data::Corpus& corpus, const Vocabularies& vocabularies) {
  std::vector<Ids> words, tags, roles;
  Ids positions;
  for (std::size_t i = 0; i < corpus.field("words").size(); ++i) {
    const auto line = [&](const char* field) {
      return text::split(lower_case(corpus.field(field)[i]));
    };
    words.push_back(vocabularies.words.encode(line("words")));
    tags.push_back(vocabularies.tags.encode(line("tags")));
    roles.push_back(vocabularies.roles.encode(roles_of(corpus.field("roles")[i])));
    positions.push_back(std::stoll(corpus.field("position")[i]));
  }
  const auto count = static_cast<std::int64_t>(positions.size());
  return tr::data::from_ragged({{"words", tr::RaggedTensor::from(words)},
                                {"tags", tr::RaggedTensor::from(tags)},
                                {"roles", tr::RaggedTensor::from(roles)}},
                               {{"position", tr::Tensor::from<std::int64_t>({count}, positions)}});
}

// A matrix with -1e4 where role j must not follow role i: I- may only follow B- or I- of its role.
tr::Tensor forbidden_pairs(const text::Vocabulary& roles, std::int64_t count) {
  tr::Tensor pairs(tr::f32, {count, count});
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < count; ++j) {
      const std::string &before = roles.token(i), &after = roles.token(j);
      const bool allowed =
          after[0] != 'I' || (before[0] != 'O' && before.substr(1) == after.substr(1));
      pairs.data<float>()[i * count + j] = allowed ? 0 : -1e4F;
    }
  }
  return pairs;
}

struct Inputs {
  tr::Value words, tags, position;
};

// The scores of all roles for each word.
tr::Value network(const Inputs& in, const Vocabularies& vocabularies, std::int64_t roles) {
  tr::Value word = nn::embedding(
      in.words, {.num_embeddings = vocabularies.words.size(), .dim = 100, .sparse_gradient = true});
  tr::Value tag = nn::embedding(in.tags, {.num_embeddings = vocabularies.tags.size(), .dim = 32});
  tr::Value embedded = nn::dropout(tr::concat({word, tag}, {.axis = 1}), {.rate = 0.3});
  // The embeddings of the predicate and of its two neighbors.
  tr::Value begins = slice(sequence::splits(in.words), {.starts = {0}, .limits = {tr::batch}});
  tr::Value last = sequence::lengths(in.words) - 1.0;
  std::vector<tr::Value> around;
  for (const double step : {-1.0, 0.0, 1.0}) {
    tr::Value position = minimum(maximum(in.position + step, 0.0), last);
    around.push_back(gather(embedded, begins + position));
  }
  tr::Value context =
      nn::linear(tr::concat(around, {.axis = 1}), {.units = 64, .activation = nn::tanh});
  // The distance of each word from the predicate.
  const double limit = 12;
  tr::Value distance = sequence::positions(in.words) - sequence::expand(in.position, in.words);
  tr::Value mark =
      nn::embedding(clamp(distance, -limit, limit) + limit, {.num_embeddings = 25, .dim = 16});

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
    const auto [roles, learned] = count_roles(train, test);
    const Vocabularies vocabularies{count_words(train, "words", 2), count_words(train, "tags", 1),
                                    roles};

    tr::Program program("semantic_roles");
    Inputs in;
    in.words = program.input("words", tr::i64, tr::ragged({tr::batch}));
    in.tags = program.input("tags", tr::i64, {in.words.dim(0)});
    in.position = program.input("position", tr::i64, {tr::batch});
    tr::Value target = program.input("roles", tr::i64, {in.words.dim(0)});
    tr::Value emissions = network(in, vocabularies, learned);
    nn::CrfScores scores = nn::crf_scores(emissions, {.name = "roles"});
    scores.transition =
        scores.transition +
        program.parameter("forbidden", tr::f32, {learned, learned}, {.trainable = false});
    tr::Value label = trireme::where(target < static_cast<double>(learned), target, 0.0);
    tr::Value loss = mean(nn::crf_loss(emissions, label, scores));
    tr::Value predicted = nn::crf_decode(emissions, scores).tags;

    tr::data::Dataset data = encode(train, vocabularies), held_out = encode(test, vocabularies);
    if (quick) data = data.shuffle(3).take(1000), held_out = held_out.take(300);
    const auto batches = data.shuffle(7).bucket_by_length(64, {.column = "words"});
    const tr::Adam optimizer{.learning_rate = tr::Schedule::cosine(2e-3, epochs * batches.size())};
    const tr::ChunkOptions chunks{.tags = roles.tokens()};
    tr::Value splits = sequence::splits(in.words);
    tr::Trainer trainer(program,
                        {.loss = loss,
                         .optimizer = optimizer,
                         .metrics = {tr::chunk_f1(predicted, target, splits, chunks),
                                     tr::chunk_precision(predicted, target, splits, chunks),
                                     tr::chunk_recall(predicted, target, splits, chunks)}});
    trainer.session().set_parameter("forbidden", forbidden_pairs(roles, learned));
    const auto validation = held_out.bucket_by_length(128, {.column = "words"});
    trainer.fit(batches, {.epochs = epochs, .validation = &validation});
    std::cout << "test f1: " << trainer.evaluate(validation)["chunk_f1"] << '\n';
    trainer.save("semantic_roles",
                 {.inputs = {in.words, in.tags, in.position}, .outputs = {predicted}});
    vocabularies.words.save("semantic_roles/words.txt");
    vocabularies.tags.save("semantic_roles/tags.txt");
    roles.save("semantic_roles/roles.txt");
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
