// Random steps of recurrent networks: compares compiled steps and their gradients with the same
// steps unrolled by sequence and row, in double precision. TRIREME_RANDOM_STEPS is their number
// (15, or 4 under sanitizers) and TRIREME_RANDOM_SEED the first seed.

#include <cstdlib>
#include <functional>
#include <memory>
#include <random>

#include "blocks.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/rnn.h"
#include "trireme/sequence.h"

namespace trireme {
namespace {

using Values = std::vector<Value>;

// What a step reads, in both forms: with a row for each sequence that runs, or of one row.
struct Reads {
  Values inputs, states, statics, weights;
  std::function<Value(const Value& query, const Value& key)> attend;  // empty: nothing to look at
  // Runs the inner network over the sequence of the next level of this step, from `first`. Returns
  // its last state.
  std::function<Value(const Value& first, const Value& key)> inner;
};

struct Made {
  Values next, outputs;
};

// A step as data: drawn once, built twice.
class Recipe {
 public:
  explicit Recipe(unsigned seed) : random_(seed) {
    states = draw(1, 3);
    inputs = draw(1, 2);
    statics = draw(0, 1);
    attends = draw(0, 2) == 0;
    nests = draw(0, 3) == 0;
    reverse = draw(0, 2) == 0;
    outputs = draw(1, 2);
    for (int i = draw(3, 9); i > 0; --i) {
      ops_.push_back({draw(0, 7), draw(0, 99), draw(0, 99), draw(0, 99)});
    }
    for (int i = draw(0, 5); i > 0; --i) lengths.push_back(std::max(0, draw(-1, 5)));
  }

  static constexpr std::int64_t kWidth = 3;
  static constexpr int kWeights = 4;

  Made build(const Reads& reads) const {
    Values pool = reads.states;
    pool.insert(pool.end(), reads.inputs.begin(), reads.inputs.end());
    pool.insert(pool.end(), reads.statics.begin(), reads.statics.end());
    const auto any = [&](int i) { return pool[static_cast<std::size_t>(i) % pool.size()]; };
    const auto weight = [&](int i) {
      return reads.weights[static_cast<std::size_t>(i) % kWeights];
    };
    if (reads.attend) pool.push_back(reads.attend(pool[0], weight(1)));
    if (reads.inner) pool.push_back(reads.inner(pool[0], weight(2)));
    for (const auto& [kind, a, b, c] : ops_) {
      switch (kind) {
        case 0: pool.push_back(tanh(matmul(any(a), weight(b)))); break;
        case 1: pool.push_back(any(a) * any(b)); break;
        case 2: pool.push_back(any(a) + any(b) * 0.5); break;
        case 3: pool.push_back(sigmoid(any(a)) * any(b)); break;
        case 4: {  // a product of what is joined
          const Value joined = concat({any(a), any(b)}, {.axis = 1});
          const Value both = concat({weight(c), weight(c + 1)}, {.axis = 0});
          pool.push_back(tanh(matmul(joined, both)));
          break;
        }
        case 5: pool.push_back(trireme::where(any(a) < any(b), any(c), tanh(any(a)))); break;
        case 6: {  // a normalized row
          const Value x = any(a);
          const Value size = sum(x * x, {.axes = {1}, .keep = true}) + 1.0;
          pool.push_back(x * rsqrt(size));
          break;
        }
        default: pool.push_back(matmul(any(a), weight(b)) + reads.weights.back()); break;
      }
    }
    Made made;
    for (int i = 0; i < states; ++i) {
      made.next.push_back(tanh(any(static_cast<int>(pool.size()) - 1 - i)) * 0.9);
    }
    for (int i = 0; i < outputs; ++i) {
      // In some steps a product that no state uses comes first.
      const Value value = any(static_cast<int>(pool.size()) - 1 - 2 * i);
      made.outputs.push_back(i == 0 ? value : matmul(value, weight(3)));
    }
    return made;
  }

  int states, inputs, statics, outputs;
  bool attends, nests, reverse;
  std::vector<int> lengths;

 private:
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  struct Drawn {
    int kind, a, b, c;
  };
  std::vector<Drawn> ops_;
  std::mt19937 random_;
};

Value total(const Value& x) { return sum(x * x); }

std::vector<std::int64_t> splits_of_lengths(const std::vector<int>& lengths) {
  std::vector<std::int64_t> splits{0};
  for (const int length : lengths) splits.push_back(splits.back() + length);
  return splits;
}

// The feeds of one recipe.
struct Data {
  explicit Data(const Recipe& recipe, unsigned seed) {
    splits = splits_of_lengths(recipe.lengths);
    std::vector<int> seen, inner;
    for (std::size_t i = 0; i < recipe.lengths.size(); ++i) {
      seen.push_back(static_cast<int>((seed + i * 7) % 4));
    }
    for (std::int64_t i = 0; i < splits.back(); ++i) {
      inner.push_back(static_cast<int>((seed + static_cast<unsigned>(i) * 5) % 3));
    }
    seen_splits = splits_of_lengths(seen);
    inner_splits = splits_of_lengths(inner);
    const auto sequences = static_cast<std::int64_t>(recipe.lengths.size());
    const auto add = [&](const std::string& name, std::int64_t rows) {
      feeds[name] = noise({rows, Recipe::kWidth}, ++seed, -0.8, 0.8);
    };
    for (int i = 0; i < recipe.inputs; ++i) add("x" + std::to_string(i), splits.back());
    for (int i = 0; i < recipe.statics; ++i) add("s" + std::to_string(i), sequences);
    for (int i = 0; i < recipe.states; ++i) add("m" + std::to_string(i), sequences);
    for (int i = 0; i < Recipe::kWeights; ++i) add("w" + std::to_string(i), Recipe::kWidth);
    feeds["bias"] = noise({Recipe::kWidth}, ++seed, -0.5, 0.5);
    if (recipe.attends) add("seen", seen_splits.back());
    if (recipe.nests) add("inner", inner_splits.back());
  }

  Feeds feeds;
  std::vector<std::int64_t> splits, seen_splits, inner_splits;
};

Tensor tensor_of(const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

// The inputs of a Program, of the shapes of the feeds or with symbols for them.
std::map<std::string, Value> declare(Program& program, const Data& data,
                                     const std::function<Dim(const std::string& name)>& rows) {
  std::map<std::string, Value> inputs;
  for (const auto& [name, tensor] : data.feeds) {
    Shape shape;
    for (const std::int64_t size : tensor.shape()) shape.push_back(size);
    if (shape.size() == 2) shape[0] = rows(name);
    inputs[name] = program.input(name, f32, shape);
  }
  return inputs;
}

Values named(const std::map<std::string, Value>& inputs, const char* stem, int count) {
  Values values;
  for (int i = 0; i < count; ++i) values.push_back(inputs.at(stem + std::to_string(i)));
  return values;
}

struct Built {
  Value loss;
  Values outputs;
  std::map<std::string, Value> inputs;
};

Values weights_of(const std::map<std::string, Value>& inputs) {
  Values weights = named(inputs, "w", Recipe::kWeights);
  weights.push_back(inputs.at("bias"));
  return weights;
}

Value inner_step(const Value& at, const Value& state, const Value& key) {
  return tanh(matmul(state, key) + at);
}

// With rnn.
Built with_rnn(Program& program, const Recipe& recipe, const Data& data) {
  const Dim words{std::string_view("words")}, seen{std::string_view("seen")},
      inner{std::string_view("inner")};
  ir::Program& ir = program.ir();
  ir.add_input("splits", {i64, {batch + 1}, "words"});
  if (recipe.attends) ir.add_input("seen.splits", {i64, {batch + 1}, "seen"});
  if (recipe.nests) ir.add_input("inner.splits", {i64, {words + 1}, "inner"});
  Built built;
  built.inputs = declare(program, data, [&](const std::string& name) -> Dim {
    if (name[0] == 'x') return words;
    if (name == "seen") return seen;
    if (name == "inner") return inner;
    return name[0] == 'w' ? Dim(Recipe::kWidth) : batch;
  });
  const auto& inputs = built.inputs;
  const nn::RnnResult result = nn::run_rnn(
      [&](nn::Step& step) {
        Reads reads;
        for (const Value& x : named(inputs, "x", recipe.inputs))
          reads.inputs.push_back(step.input(x));
        for (const Value& s : named(inputs, "s", recipe.statics)) {
          reads.statics.push_back(step.static_input(s));
        }
        for (const Value& m : named(inputs, "m", recipe.states)) {
          reads.states.push_back(step.state({.init = m}));
        }
        reads.weights = weights_of(inputs);
        if (recipe.attends) {
          const Value rows = step.static_input(inputs.at("seen"));
          reads.attend = [rows](const Value& query, const Value& key) {
            const Value at = sequence::expand(matmul(query, key), rows);
            const Value weight = sequence::softmax(sum(tanh(rows + at), {.axes = {1}}));
            return sequence::sum(rows * broadcast(weight, {.shape = rows.shape(), .axes = {0}}));
          };
        }
        if (recipe.nests) {
          const Value rows = step.input(inputs.at("inner"));
          reads.inner = [rows](const Value& first, const Value& key) {
            const nn::RnnResult made = nn::run_rnn([&](nn::Step& word) {
              const Value at = word.input(rows);
              const Value state = word.state({.init = first});
              const Value next = inner_step(at, state, key);
              word.update(state, next);
              word.output(next);
            });
            return made.states[0] + sequence::mean(made.outputs[0]);
          };
        }
        const Made made = recipe.build(reads);
        for (std::size_t i = 0; i < made.next.size(); ++i) {
          step.update(reads.states[i], made.next[i]);
        }
        for (const Value& output : made.outputs) step.output(output);
      },
      {.reverse = recipe.reverse});
  built.outputs = result.outputs;
  built.outputs.insert(built.outputs.end(), result.states.begin(), result.states.end());
  for (const Value& value : built.outputs) {
    built.loss = built.loss ? built.loss + total(value) : total(value);
  }
  return built;
}

Value rows_of(const Value& x, std::int64_t begin, std::int64_t end) {
  return slice(x, {.starts = {begin, 0}, .limits = {end, Recipe::kWidth}});
}

// Written out.
Built without_loops(Program& program, const Recipe& recipe, const Data& data) {
  Built built;
  built.inputs = declare(program, data,
                         [&](const std::string& name) { return Dim(data.feeds.at(name).dim(0)); });
  const auto& inputs = built.inputs;
  const Values xs = named(inputs, "x", recipe.inputs), statics = named(inputs, "s", recipe.statics);
  std::vector<Values> rows(static_cast<std::size_t>(recipe.outputs));
  for (Values& row : rows) row.resize(static_cast<std::size_t>(data.splits.back()));
  std::vector<Values> last(static_cast<std::size_t>(recipe.states));
  for (std::size_t i = 0; i < recipe.lengths.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    Reads reads;
    reads.weights = weights_of(inputs);
    for (const Value& s : statics) reads.statics.push_back(rows_of(s, at, at + 1));
    for (const Value& m : named(inputs, "m", recipe.states)) {
      reads.states.push_back(rows_of(m, at, at + 1));
    }
    if (recipe.attends) {
      const std::int64_t begin = data.seen_splits[i], end = data.seen_splits[i + 1];
      const Value seen = inputs.at("seen");
      reads.attend = [=](const Value& query, const Value& key) {
        if (begin == end) return query * 0.0;
        const Value part = rows_of(seen, begin, end);
        const Value scores = sum(tanh(part + matmul(query, key)), {.axes = {1}});
        const Value powers = exp(scores);
        const Value weight = powers / sum(powers);
        return sum(part * broadcast(weight, {.shape = part.shape(), .axes = {0}}),
                   {.axes = {0}, .keep = true});
      };
    }
    for (int t = 0; t < recipe.lengths[i]; ++t) {
      const std::int64_t row = recipe.reverse ? data.splits[i + 1] - 1 - t : data.splits[i] + t;
      reads.inputs.clear();
      for (const Value& x : xs) reads.inputs.push_back(rows_of(x, row, row + 1));
      if (recipe.nests) {
        const auto r = static_cast<std::size_t>(row);
        const std::int64_t begin = data.inner_splits[r], end = data.inner_splits[r + 1];
        const Value inner = inputs.at("inner");
        reads.inner = [=](const Value& first, const Value& key) {
          Value state = first, sum_of;
          for (std::int64_t k = begin; k < end; ++k) {
            state = inner_step(rows_of(inner, k, k + 1), state, key);
            sum_of = sum_of ? sum_of + state : state;
          }
          return sum_of ? state + sum_of * (1.0 / static_cast<double>(end - begin)) : state;
        };
      }
      const Made made = recipe.build(reads);
      reads.states = made.next;
      for (std::size_t k = 0; k < rows.size(); ++k) {
        rows[k][static_cast<std::size_t>(row)] = made.outputs[k];
      }
    }
    for (std::size_t k = 0; k < last.size(); ++k) last[k].push_back(reads.states[k]);
  }
  for (const auto& group : {rows, last}) {
    for (const Values& values : group) {
      if (!values.empty()) built.outputs.push_back(concat(values, {.axis = 0}));
      else built.outputs.push_back(inputs.at("m0") * 0.0);  // of no sequences, or no rows
    }
  }
  for (const Value& value : built.outputs) {
    built.loss = built.loss ? built.loss + total(value) : total(value);
  }
  return built;
}

std::vector<ir::Value*> gradients_of(const Built& built) {
  std::vector<ir::Value*> wanted;
  for (const auto& [name, value] : built.inputs) wanted.push_back(value.get());
  return transforms::gradients(built.loss.get(), wanted);
}

void compare(unsigned seed) {
  const Recipe recipe(seed);
  const Data data(recipe, seed);

  Program plain;
  const Built expected_built = without_loops(plain, recipe, data);
  std::vector<const ir::Value*> wanted{expected_built.loss.get()};
  for (const Value& value : expected_built.outputs) wanted.push_back(value.get());
  for (const ir::Value* gradient : gradients_of(expected_built)) wanted.push_back(gradient);
  ops::RefTensors none;
  const auto expected = ops::evaluate(plain.ir(), as_reference(data.feeds), none, wanted);

  Program program;
  const Built built = with_rnn(program, recipe, data);
  Values fetches{built.loss};
  fetches.insert(fetches.end(), built.outputs.begin(), built.outputs.end());
  for (ir::Value* gradient : gradients_of(built)) fetches.emplace_back(gradient);
  ASSERT_EQ(Program::parse(program.str()).str(), program.str());
  Feeds feeds = data.feeds;
  feeds["splits"] = tensor_of(data.splits);
  if (recipe.attends) feeds["seen.splits"] = tensor_of(data.seen_splits);
  if (recipe.nests) feeds["inner.splits"] = tensor_of(data.inner_splits);
  for (const int threads : {1, 2}) {
    Session session(program, {.threads = threads});
    const std::vector<Tensor> actual = session.run(feeds, fetches);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      if (actual[i].elements() == 0) continue;
      expect_near(actual[i], expected[i],
                  "value " + std::to_string(i) + " with " + std::to_string(threads) + " threads",
                  5e-4);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

int setting(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

TEST(RandomSteps, AgreeWithStepsWrittenOut) {
#ifdef TRIREME_SANITIZED
  constexpr int kUsual = 4;
#else
  constexpr int kUsual = 15;
#endif
  const int count = setting("TRIREME_RANDOM_STEPS", kUsual);
  const int first = setting("TRIREME_RANDOM_SEED", 1);
  for (int i = 0; i < count; ++i) {
    SCOPED_TRACE("TRIREME_RANDOM_SEED=" + std::to_string(first + i) + " TRIREME_RANDOM_STEPS=1");
    ASSERT_NO_THROW(compare(static_cast<unsigned>(first + i)));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace trireme
