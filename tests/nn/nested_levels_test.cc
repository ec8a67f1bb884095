// Steps over sequences of sequences of sequences: compares values, and gradients by differences,
// with the plain loops below.

#include <functional>

#include "blocks.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/ragged.h"
#include "trireme/rnn.h"
#include "trireme/sequence.h"

namespace trireme {
namespace {

using Sizes = std::vector<std::int64_t>;
using Row = std::vector<double>;

// Texts of chapters of paragraphs of words; of each level how many things of the next one each has.
struct Texts {
  Sizes chapters, paragraphs, words;
};

// x by word; y by paragraph of another book for each text; all numbers, so that a step is simple.
struct Numbers {
  Row x, y, weights;
};

// The state passes through the words of a paragraph, the paragraphs of a chapter and the chapters
// of a text. Each level adds its first state. Each chapter also attends to the other book.
double plain_loss(const Texts& texts, const Texts& other, const Numbers& n) {
  const Row& w = n.weights;
  double loss = 0;
  std::size_t chapter = 0, paragraph = 0, word = 0, other_chapter = 0, other_paragraph = 0;
  for (std::size_t text = 0; text < texts.chapters.size(); ++text) {
    double looked = 0;
    for (std::int64_t c = 0; c < other.chapters[text]; ++c, ++other_chapter) {
      double most = 0;
      for (std::int64_t p = 0; p < other.paragraphs[other_chapter]; ++p, ++other_paragraph) {
        most += std::tanh(n.y[other_paragraph] * w[4]);
      }
      looked += most * most;
    }
    double h = 0.1;
    for (std::int64_t c = 0; c < texts.chapters[text]; ++c, ++chapter) {
      double of_chapter = h;
      for (std::int64_t p = 0; p < texts.paragraphs[chapter]; ++p, ++paragraph) {
        double state = of_chapter;
        for (std::int64_t i = 0; i < texts.words[paragraph]; ++i, ++word) {
          state = std::tanh(state * w[0] + n.x[word] * w[1]);
          loss += state * state * 0.5;
        }
        of_chapter = std::tanh(of_chapter * w[2] + state);
        loss += of_chapter;
      }
      h = std::tanh(h * w[3] + of_chapter + looked);
      loss += h * h;
    }
    loss += 2 * h;
  }
  return loss;
}

std::int64_t total(const Sizes& sizes) {
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) sum += size;
  return sum;
}

Tensor tensor(const Row& row, bool narrow) {
  Tensor made(f32, narrow ? Sizes{static_cast<std::int64_t>(row.size()), 1}
                          : Sizes{static_cast<std::int64_t>(row.size())});
  for (std::size_t i = 0; i < row.size(); ++i) made.data<float>()[i] = static_cast<float>(row[i]);
  return made;
}

struct Network {
  Program program{"texts"};
  Value x, y, w, loss;
  std::vector<Value> gradients;

  Network() {
    x = program.input("x", f32, ragged(Shape{batch, Dim("chapters"), Dim("paragraphs")}, {1}));
    y = program.input("y", f32, ragged(Shape{batch, Dim("other_chapters")}, {1}));
    w = program.input("w", f32, {5});
    const Value by_chapter = sequence::lengths(sequence::lengths(x));
    const nn::RnnResult texts =
        nn::run_rnn([this](nn::Step& step) { chapter(step); }, {.over = by_chapter});
    loss = sum(texts.outputs[0] * texts.outputs[0]) + sum(texts.states[0]) * 2.0 +
           sum(texts.outputs[1]) + sum(texts.outputs[2] * texts.outputs[2]) * 0.5;
    std::vector<ir::Value*> made = transforms::gradients(loss.get(), {x.get(), y.get(), w.get()});
    for (ir::Value* gradient : made) gradients.emplace_back(gradient);
  }

  Value weight(std::int64_t i) const { return slice(w, {.starts = {i}, .limits = {i + 1}}); }

  void chapter(nn::Step& step) {
    const Value words = step.input(x), book = step.static_input(y);
    const Value h = step.state({.width = 1, .value = 0.1});
    const Value most = sequence::sum(tanh(book * weight(4)));
    const Value looked = sequence::sum(most * most);
    const nn::RnnResult chapters = nn::run_rnn(
        [&](nn::Step& inner) {
          const Value paragraph = inner.input(words), before = inner.state({.init = h});
          const nn::RnnResult of_words = nn::run_rnn([&](nn::Step& word) {
            const Value at = word.input(paragraph), state = word.state({.init = before});
            const Value next = tanh(state * weight(0) + at * weight(1));
            word.update(state, next);
            word.output(next);
          });
          const Value next = tanh(before * weight(2) + of_words.states[0]);
          inner.update(before, next);
          inner.output(next);
          inner.output(of_words.outputs[0]);
        },
        {.over = sequence::lengths(words)});
    const Value next = tanh(h * weight(3) + chapters.states[0] + looked);
    step.update(h, next);
    step.output(next);
    step.output(chapters.outputs[0]);
    step.output(chapters.outputs[1]);
  }
};

Feeds feeds_of(const Texts& texts, const Texts& other, const Numbers& n) {
  Feeds feeds{{"w", tensor(n.weights, false)}};
  RaggedTensor(tensor(n.x, true),
               {splits_of(texts.chapters), splits_of(texts.paragraphs), splits_of(texts.words)})
      .add_to(feeds, "x");
  RaggedTensor(tensor(n.y, true),
               std::vector<Tensor>{splits_of(other.chapters), splits_of(other.paragraphs)})
      .add_to(feeds, "y");
  return feeds;
}

Row numbers(std::size_t count, double seed) {
  Row row;
  for (std::size_t i = 0; i < count; ++i) {
    row.push_back(std::sin(1.3 * static_cast<double>(i) + seed));
  }
  return row;
}

void expect_equal_to_loops(Network& network, Session& session, const Texts& texts,
                           const Texts& other) {
  Numbers n{numbers(static_cast<std::size_t>(total(texts.words)), 1),
            numbers(static_cast<std::size_t>(total(other.paragraphs)), 2),
            {0.6, -0.8, 0.7, 0.5, 0.9}};
  std::vector<Value> fetches{network.loss};
  fetches.insert(fetches.end(), network.gradients.begin(), network.gradients.end());
  const std::vector<Tensor> made = session.run(feeds_of(texts, other, n), fetches);
  const double loss = plain_loss(texts, other, n);
  EXPECT_NEAR(made[0].to_vector<float>()[0], loss, 1e-5 * (1 + std::abs(loss)));
  Row* of[] = {&n.x, &n.y, &n.weights};
  for (std::size_t k = 0; k < 3; ++k) {
    const std::vector<float> gradient = made[k + 1].to_vector<float>();
    ASSERT_EQ(gradient.size(), of[k]->size());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      double& value = (*of[k])[i];
      const double kept = value;
      value = kept + 1e-5;
      const double above = plain_loss(texts, other, n);
      value = kept - 1e-5;
      const double below = plain_loss(texts, other, n);
      value = kept;
      const double wanted = (above - below) / 2e-5;
      EXPECT_NEAR(gradient[i], wanted, 1e-4 * (1 + std::abs(wanted))) << k << " at " << i;
    }
  }
}

TEST(NestedLevels, AStepOverChaptersOfParagraphsOfWords) {
  Network network;
  EXPECT_EQ(Program::parse(network.program.str()).str(), network.program.str());
  for (const int threads : {1, 2}) {
    Session session(network.program, {.threads = threads});
    const Texts book{{2, 0, 3, 1}, {2, 1, 0, 3, 1, 2}, {3, 0, 2, 1, 1, 4, 0, 2, 5}};
    const Texts other{{1, 2, 0, 3}, {2, 0, 1, 2, 0, 1}, {}};
    expect_equal_to_loops(network, session, book, other);
    expect_equal_to_loops(network, session, {{1}, {1}, {1}}, {{0}, {}, {}});
    expect_equal_to_loops(network, session, {{0, 0}, {}, {}}, {{1, 0}, {3}, {}});
    expect_equal_to_loops(network, session, {{}, {}, {}}, {{}, {}, {}});
    expect_equal_to_loops(network, session, {{1, 4}, {3, 1, 1, 2, 2}, {1, 2, 3, 4, 5, 0, 0, 2, 1}},
                          {{2, 2}, {1, 1, 3, 2}, {}});
  }
}

}  // namespace
}  // namespace trireme
