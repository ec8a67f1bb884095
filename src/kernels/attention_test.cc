// What the samples of the op do not reach: sequences of several blocks and parts, and numbers that
// are not finite. The oracle is plain loops in double.
#include "kernels/test_calls.h"

#include <limits>

namespace trireme::kernels {
namespace {

using Numbers = std::vector<double>;

struct AttentionSizes {
  std::int64_t batch, queries, keys, heads, key_heads, width;
  bool causal;

  Sizes query() const { return {batch, queries, heads, width}; }
  Sizes key() const { return {batch, keys, key_heads, width}; }
  Sizes of_head() const { return {batch, queries, heads}; }
};

// All results of a kernel, with a workspace of NaN.
template <class T>
std::vector<std::vector<T>> run_attention(const std::string& kernel, const Call& call,
                                          std::vector<std::vector<T>> inputs, std::size_t results,
                                          int threads) {
  const auto device = device::make_cpu_device(threads);
  const std::unique_ptr<KernelInstance> prepared = find(kernel)(call);
  const std::size_t bytes = prepared->workspace_bytes(threads);
  const auto release = [&](void* memory) { device->release(memory, bytes); };
  const std::unique_ptr<void, decltype(release)> workspace(device->allocate(bytes), release);
  std::memset(workspace.get(), 0xff, bytes);
  std::vector<std::vector<T>> made;
  for (std::size_t i = call.tensors.size() - results; i < call.tensors.size(); ++i) {
    made.emplace_back(static_cast<std::size_t>(elements(call.tensors[i].shape)), T{99});
  }
  std::vector<void*> tensors;
  for (std::vector<T>& input : inputs) tensors.push_back(input.data());
  for (std::vector<T>& result : made) tensors.push_back(result.data());
  prepared->run(tensors.data(), workspace.get(), *device);
  return made;
}

template <class T>
Call attention_call(const AttentionSizes& s, bool gradient) {
  Call call;
  call.attributes = {{"causal", s.causal}, {"scale", 0.5}};
  std::vector<Sizes> shapes{s.query(), s.key(), s.key()};
  if (gradient) shapes.insert(shapes.end(), {s.of_head(), s.query(), s.of_head()});
  if (gradient) shapes.insert(shapes.end(), {s.query(), s.key(), s.key()});
  else shapes.insert(shapes.end(), {s.query(), s.of_head()});
  for (const Sizes& shape : shapes) call.tensors.push_back({dtype_of<T>, shape});
  return call;
}

// Calls visit(place of the query, place of the key, its score) for all pairs of one head.
template <class T, class Visit>
void for_scores(const AttentionSizes& s, const std::vector<T>& query, const std::vector<T>& key,
                std::int64_t example, std::int64_t head, std::int64_t i, const Visit& visit) {
  const std::int64_t at = ((example * s.queries + i) * s.heads + head);
  const std::int64_t key_head = head / (s.heads / s.key_heads);
  for (std::int64_t j = 0; j < s.keys && (!s.causal || j <= i); ++j) {
    const std::int64_t from = (example * s.keys + j) * s.key_heads + key_head;
    double score = 0;
    for (std::int64_t c = 0; c < s.width; ++c) {
      score += static_cast<double>(query[static_cast<std::size_t>(at * s.width + c)]) *
               static_cast<double>(key[static_cast<std::size_t>(from * s.width + c)]);
    }
    visit(static_cast<std::size_t>(at), static_cast<std::size_t>(from), 0.5 * score);
  }
}

template <class T>
void expect_definition(const AttentionSizes& s, double tolerance) {
  const auto q = random_values<T>(elements(s.query()), 1),
             k = random_values<T>(elements(s.key()), 2);
  const auto v = random_values<T>(elements(s.key()), 3);
  const auto dy = random_values<T>(elements(s.query()), 4);
  const auto made = run_attention<T>("attention", attention_call<T>(s, false), {q, k, v}, 2, 2);
  const auto width = static_cast<std::size_t>(s.width);
  Numbers y(q.size()), log_sums(q.size() / width), shift(q.size() / width);
  Numbers dq(q.size()), dk(k.size()), dv(k.size());
  for (std::int64_t n = 0; n < s.batch * s.heads * s.queries; ++n) {
    const std::int64_t example = n / (s.heads * s.queries), head = n / s.queries % s.heads;
    const std::int64_t i = n % s.queries;
    const auto scores = [&](const auto& visit) { for_scores(s, q, k, example, head, i, visit); };
    double sum = 0;
    scores([&](std::size_t, std::size_t, double score) { sum += std::exp(score); });
    scores([&](std::size_t at, std::size_t from, double score) {
      log_sums[at] = std::log(sum);
      for (std::size_t c = 0; c < width; ++c) {
        y[at * width + c] += std::exp(score) / sum * static_cast<double>(v[from * width + c]);
      }
    });
    scores([&](std::size_t at, std::size_t from, double score) {
      const double weight = std::exp(score) / sum;
      double change = 0;
      shift[at] = 0;
      for (std::size_t c = 0; c < width; ++c) {
        const auto g = static_cast<double>(dy[at * width + c]);
        shift[at] += g * y[at * width + c];
        change += g * static_cast<double>(v[from * width + c]);
        dv[from * width + c] += weight * g;
      }
      const double dscore = weight * (change - shift[at]) * 0.5;
      for (std::size_t c = 0; c < width; ++c) {
        dq[at * width + c] += dscore * static_cast<double>(k[from * width + c]);
        dk[from * width + c] += dscore * static_cast<double>(q[at * width + c]);
      }
    });
  }
  const auto expect = [&](const std::vector<T>& found, const Numbers& expected, const char* what) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(found[i]), expected[i], tolerance) << what << " at " << i;
    }
  };
  expect(made[0], y, "y");
  expect(made[1], log_sums, "log_sums");
  const std::vector<T> shift_t(shift.begin(), shift.end());
  const std::vector<std::vector<T>> inputs{q, k, v, made[1], dy, shift_t};
  const Call call = attention_call<T>(s, true);
  const auto gradients = run_attention<T>("attention_gradient", call, inputs, 3, 2);
  expect(gradients[0], dq, "dquery");
  expect(gradients[1], dk, "dkey");
  expect(gradients[2], dv, "dvalue");
  for (const int threads : {1, 3}) {
    EXPECT_EQ(run_attention<T>("attention_gradient", call, inputs, 3, threads), gradients);
  }
}

// One sequence with one head is cut into parts, whose gradients are added.
TEST(Attention, OfManyBlocksIsThatOfPlainLoops) {
  for (const bool causal : {false, true}) {
    expect_definition<float>({1, 1300, 700, 1, 1, 5, causal}, 2e-4);
    expect_definition<double>({1, 600, 1100, 2, 1, 3, causal}, 1e-10);
    expect_definition<float>({3, 260, 260, 4, 2, 16, causal}, 1e-4);
  }
}

TEST(Attention, KeepsWhatIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const AttentionSizes s{1, 5, 3, 1, 1, 2, false};
  // Scores: NaN; as of nothing, so the mean; -infinity for all keys; huge; +infinity.
  const std::vector<float> q{NAN, 1, 0, 0, -kInfinity, 0, 1e30f, 0, kInfinity, 0};
  const std::vector<float> k{1, 0, 2, 0, 4, 0}, v{1, 10, 2, 20, 6, 60};
  const auto made =
      run_attention<float>("attention", attention_call<float>(s, false), {q, k, v}, 2, 1);
  const std::vector<float>& y = made[0];
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(made[1][0]));
  EXPECT_FLOAT_EQ(y[2], 3);
  EXPECT_FLOAT_EQ(y[3], 30);
  EXPECT_FLOAT_EQ(made[1][1], std::log(3.0f));
  EXPECT_EQ(y[4], 0);
  EXPECT_EQ(made[1][2], -kInfinity);
  EXPECT_FLOAT_EQ(y[6], 6);  // only the largest score counts
  EXPECT_FLOAT_EQ(y[7], 60);
  EXPECT_TRUE(std::isnan(y[8]));  // a difference of infinities, as softmax
}

// Scores have a factor that is no power of two, so their products with it are rounded.
TEST(Attention, CountsEqualScoresOfAnySize) {
  const AttentionSizes s{1, 3, 2, 1, 1, 2, false};
  const std::vector<float> q{1e20f, 0, 3e9f, 0, -7e4f, 0}, k{1, 0, 1, 0}, v{1, 10, 3, 30};
  Call call = attention_call<float>(s, false);
  call.attributes = {{"causal", false}, {"scale", 1 / std::sqrt(2.0)}};
  const std::vector<float> y = run_attention<float>("attention", call, {q, k, v}, 2, 1)[0];
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_FLOAT_EQ(y[i], i % 2 == 0 ? 2 : 20) << i;
  // A sum of 1, and then the score itself is its logarithm: weights of 1.
  std::vector<float> log_sums;
  for (std::size_t i = 0; i < q.size(); i += 2) {
    log_sums.push_back(q[i] * static_cast<float>(1 / std::sqrt(2.0)));
  }
  Call gradient = attention_call<float>(s, true);
  gradient.attributes = call.attributes;
  const std::vector<float> dy(6, 1), shift(3, 0);
  const std::vector<float> dvalue =
      run_attention<float>("attention_gradient", gradient, {q, k, v, log_sums, dy, shift}, 3, 1)[2];
  for (const float number : dvalue) EXPECT_FLOAT_EQ(number, 3);
}

}  // namespace
}  // namespace trireme::kernels
