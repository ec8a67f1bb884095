// Only existing rows cost work: the operations that the profiler counts for a batch equal the sum
// over single sequences, and no value of the Plan has more rows.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>
#include <set>

#include "codegen/codegen.h"
#include "compiler/compile.h"
#include "transforms/autodiff.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/ragged.h"
#include "trireme/recurrent.h"
#include "trireme/rnn.h"
#include "trireme/sequence.h"
#include "trireme/session.h"

namespace trireme {
namespace {

// A network over "words", ids of sequences. It fetches a total over them and all its gradients.
struct Network {
  Program program{"network"};
  Value words = program.input("words", DType::i64, ragged({batch}));
  std::vector<Value> fetches = {};

  void differentiate(const Value& total) {
    std::vector<ir::Value*> wanted;
    for (const Value& parameter : program.parameters()) wanted.push_back(parameter.get());
    fetches.push_back(total);
    for (ir::Value* gradient : transforms::gradients(total.get(), wanted)) {
      fetches.emplace_back(gradient);
    }
  }
};

void lstm_network(Network& n) {
  Value x = nn::embedding(n.words, {.num_embeddings = 20, .dim = 6});
  x = nn::lstm(x, {.units = 5, .layers = 2, .bidirectional = true});
  n.differentiate(sum(nn::linear(sequence::max(x), {.units = 2})));
}

// Each sequence looks back at all its words at each of them.
void attention_network(Network& n) {
  const Value x = nn::embedding(n.words, {.num_embeddings = 20, .dim = 6});
  const Value read = nn::gru(x, {.units = 5});
  auto [states] = nn::rnn([&](nn::Step& step) {
    const Value now = step.input(x), seen = step.static_input(read);
    const Value h = step.state({.width = 5});
    const Value query = sequence::expand(nn::linear(h, {.units = 5}), seen);
    const Value weights = sequence::softmax(nn::linear(nn::tanh(seen + query), {.units = 1}));
    const Value context = sequence::sum(seen * broadcast(reshape(weights, {.shape = {seen.dim(0)}}),
                                                         {.shape = seen.shape(), .axes = {0}}));
    const Value next = nn::gru_cell(concat({now, context}, {.axis = 1}), h, {.units = 5});
    step.update(h, next);
    step.output(next);
  });
  n.differentiate(sum(states));
}

class Counter {
 public:
  Counter(const Network& network, std::vector<Value> fetches)
      : fetches_(std::move(fetches)),
        session_(
            network.program,
            {.threads = 1,
             .profile = (std::filesystem::path(testing::TempDir()) / "operations.json").string()}),
        on_weights_(count({})) {}

  // Without what is done to weights alone.
  std::int64_t of(const std::vector<std::int64_t>& lengths) { return count(lengths) - on_weights_; }
  std::int64_t of_each(const std::vector<std::int64_t>& lengths) {
    std::int64_t total = 0;
    for (const std::int64_t length : lengths) total += of({length});
    return total;
  }
  std::int64_t on_weights() const { return on_weights_; }

 private:
  std::int64_t count(const std::vector<std::int64_t>& lengths) {
    const std::int64_t rows = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    Feeds feeds;
    const std::vector<std::int64_t> ids(static_cast<std::size_t>(rows), 3);
    const Tensor words = Tensor::from<std::int64_t>({rows}, ids);
    RaggedTensor::from_lengths(words, lengths).add_to(feeds, "words");
    const std::int64_t before = session_.statistics().operations;
    session_.run(feeds, fetches_, {.training = true});
    return session_.statistics().operations - before;
  }

  std::vector<Value> fetches_;
  Session session_;
  std::int64_t on_weights_;
};

// 10 to 200.
std::vector<std::int64_t> lengths_in_no_order() {
#ifdef TRIREME_SANITIZED
  return {30, 10, 20};
#else
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 20; ++i) lengths.push_back(10 * (i * 7 % 20 + 1));
  return lengths;
#endif
}

class Operations : public testing::TestWithParam<std::function<void(Network&)>> {};
INSTANTIATE_TEST_SUITE_P(Networks, Operations, testing::Values(lstm_network, attention_network));

TEST_P(Operations, OfABatchAreThoseOfEachSequenceAlone) {
  Network network;
  GetParam()(network);
  Counter forwards(network, {network.fetches[0]});
  const std::vector<std::int64_t> lengths = lengths_in_no_order();
  const std::int64_t together = forwards.of(lengths);
  EXPECT_EQ(together, forwards.of_each(lengths));
  EXPECT_LT(forwards.on_weights(), together / 100);
  // What padding to the longest costs.
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  EXPECT_LT(together, forwards.of(std::vector<std::int64_t>(lengths.size(), longest)) * 7 / 10);
  std::cout << "operations forwards: " << together << " in a batch of lengths 10 to 200, "
            << forwards.of_each(lengths) << " one by one\n";
}

// Gradients of weights are summed once for each step of the batch, not for each step of a sequence,
// which saves a few operations.
TEST_P(Operations, OfGradientsAreNotMoreThanThoseOfEachSequenceAlone) {
  Network network;
  GetParam()(network);
  Counter counter(network, network.fetches);
  const std::vector<std::int64_t> lengths = lengths_in_no_order();
  const std::int64_t together = counter.of(lengths), alone = counter.of_each(lengths);
  EXPECT_LE(together, alone);
  EXPECT_GT(static_cast<double>(together), 0.98 * static_cast<double>(alone));
  EXPECT_LT(counter.on_weights(), together / 100);
  std::cout << "operations with gradients: " << together << " in a batch of lengths 10 to 200, "
            << alone << " one by one\n";
}

void collect_dims(const plan::Plan& plan, std::set<std::string>& dims) {
  for (const plan::Buffer& buffer : plan.buffers) {
    const Dim elements = product(buffer.shape);
    for (const auto& [symbols, factor] : elements.terms()) {
      std::string text;
      for (const std::string& symbol : symbols) text += (text.empty() ? "" : " * ") + symbol;
      dims.insert(text);
    }
  }
  for (const plan::Step& step : plan.steps) {
    for (const plan::Nested& nested : step.control.blocks) collect_dims(*nested.plan, dims);
  }
}

// No value is as large as sequences times steps, in the Plan or in its blocks' Plans.
TEST_P(Operations, ThePlanHasNoPadding) {
  Network network;
  GetParam()(network);
  std::vector<const ir::Value*> fetches;
  for (const Value& fetch : network.fetches) fetches.push_back(fetch.get());
  const auto codegen = codegen::make_interpreter();
  const auto plan = compiler::compile(network.program.ir(), fetches, *codegen, {.training = true});
  std::set<std::string> dims;
  collect_dims(*plan, dims);
  EXPECT_TRUE(dims.contains("words"));
  for (const std::string& dim : dims) {
    EXPECT_EQ(dim.find('*'), std::string::npos) << "a value of " << dim << " elements";
  }
}

}  // namespace
}  // namespace trireme
