// Layers with hash functions, against the hash functions written again on the host.

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <numeric>

#include "base/testing/error.h"
#include "trireme/compression.h"
#include "trireme/gradients.h"
#include "trireme/session.h"

namespace trireme::nn {
namespace {

using ::testing::HasSubstr;
using Word = std::uint32_t;

Word murmur(Word h) {
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ (h >> 16);
}
Word hash_of(Word key, Word seed, Word index) {
  const Word salt = murmur(seed + 0x9e3779b9u * (index + 1));
  return murmur(murmur(key ^ salt) + salt);
}
std::int64_t place_of(Word hash, std::int64_t buckets) {
  return static_cast<std::int64_t>((std::uint64_t{hash} * static_cast<std::uint64_t>(buckets)) >>
                                   32);
}
Word key_of_id(std::int64_t id) {
  return static_cast<Word>(id) ^ murmur(static_cast<Word>(static_cast<std::uint64_t>(id) >> 32));
}

Tensor counted_numbers(std::vector<std::int64_t> shape) {
  Tensor made(f32, std::move(shape));
  for (std::int64_t i = 0; i < made.elements(); ++i) {
    made.data<float>()[i] = std::sin(static_cast<float>(3 * i + 1));
  }
  return made;
}

TEST(HashedLinear, SharesNumbersByTheHash) {
  constexpr std::int64_t kIn = 6, kUnits = 5, kNumbers = 7, kRows = 3;
  for (const int hashes : {1, 3}) {
    Program program;
    const Value x = program.input("x", f32, {batch, kIn});
    const Value y =
        hashed_linear(x, {.units = kUnits, .num_weights = kNumbers, .hashes = hashes, .seed = 9});
    const Value w = program.find("hashed_linear_0.weight");
    ASSERT_EQ(w.shape(), Shape{kNumbers});
    const Value slope = gradients(sum(y), {w})[0];
    Session session(program, {.threads = 1});
    const Tensor numbers = counted_numbers({kNumbers}), input = counted_numbers({kRows, kIn});
    session.set_parameter("hashed_linear_0.weight", numbers);
    const std::vector<Tensor> results = session.run({{"x", input}}, {y, slope});
    std::vector<double> expected(kRows * kUnits), slopes(kNumbers);
    for (Word i = 0; i < kIn; ++i) {
      for (Word j = 0; j < kUnits; ++j) {
        for (int u = 0; u < hashes; ++u) {
          const Word hash = hash_of(i * kUnits + j, 9, static_cast<Word>(u));
          const double sign = (murmur(hash + 0x9e3779b9u) & 1u) != 0 ? -1 : 1;
          const std::int64_t at = place_of(hash, kNumbers);
          for (std::int64_t r = 0; r < kRows; ++r) {
            const double factor = sign * input.data<float>()[r * kIn + i] / std::sqrt(hashes);
            expected[static_cast<std::size_t>(r * kUnits + j)] +=
                factor * numbers.data<float>()[at];
            slopes[static_cast<std::size_t>(at)] += factor;
          }
        }
      }
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(results[0].data<float>()[i], expected[i], 1e-5) << hashes;
    }
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      EXPECT_NEAR(results[1].data<float>()[i], slopes[i], 1e-5) << hashes;
    }
  }
}

TEST(HashedLinear, CombinesNumbersByANet) {
  Program program;
  const Value x = program.input("x", f32, {batch, 4});
  const HashedLinearOptions options{.units = 3, .num_weights = 5, .hashes = 2, .hidden = 4};
  const Value y = hashed_linear(x, options);
  EXPECT_EQ(program.find("hashed_linear_0.mix").shape(), (Shape{2, 4}));
  const std::vector<Value> parameters = program.parameters();
  const std::vector<Value> slopes = gradients(sum(y * y), parameters);
  Session session(program, {.threads = 1});
  // Beside the sum, the net is 0 at first.
  Program plain_program;
  HashedLinearOptions plain = options;
  plain.hidden = 0;
  const Value other = hashed_linear(plain_program.input("x", f32, {batch, 4}), plain);
  Session plain_session(plain_program, {.threads = 1}, session);
  const Feeds feeds{{"x", counted_numbers({2, 4})}};
  EXPECT_EQ(session.run(feeds, {y})[0].to_vector<float>(),
            plain_session.run(feeds, {other})[0].to_vector<float>());
  session.set_parameter("hashed_linear_0.mix_out", counted_numbers({4, 1}));
  EXPECT_NE(session.run(feeds, {y})[0].to_vector<float>(),
            plain_session.run(feeds, {other})[0].to_vector<float>());
  for (const Tensor& slope : session.run(feeds, slopes)) {
    for (const float number : slope.to_vector<float>()) EXPECT_TRUE(std::isfinite(number));
  }
}

// The row of an id, computed on the host.
std::vector<double> row_of_key(Word key, const Tensor& table, int hashes, bool is_sum, Word seed) {
  const std::int64_t width = table.dim(1);
  std::vector<double> row(static_cast<std::size_t>(is_sum ? width : width * hashes));
  for (int u = 0; u < hashes; ++u) {
    const std::int64_t at = place_of(hash_of(key, seed, static_cast<Word>(u)), table.dim(0));
    for (std::int64_t k = 0; k < width; ++k) {
      row[static_cast<std::size_t>(is_sum ? k : u * width + k)] +=
          table.data<float>()[at * width + k];
    }
  }
  return row;
}

TEST(HashedEmbedding, TakesAnyIntegers) {
  const std::vector<std::int64_t> ids{0, -1, 7, 1LL << 40, INT64_MIN, INT64_MAX};
  for (const HashCombine combine : {HashCombine::sum, HashCombine::concat}) {
    const bool is_sum = combine == HashCombine::sum;
    Program program;
    const Value id = program.input("id", i64, {batch, 2});
    const Value y = hashed_embedding(
        id, {.num_buckets = 11, .dim = 6, .hashes = 3, .combine = combine, .seed = 4});
    EXPECT_EQ(y.shape(), (Shape{batch, 2, 6}));
    Session session(program, {.threads = 1});
    const Tensor table = counted_numbers({11, is_sum ? 6 : 2});
    session.set_parameter("hashed_embedding_0.weight", table);
    const Tensor result = session.run({{"id", Tensor::from<std::int64_t>({3, 2}, ids)}}, {y})[0];
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::vector<double> row = row_of_key(key_of_id(ids[i]), table, 3, is_sum, 4);
      for (std::size_t k = 0; k < 6; ++k) {
        EXPECT_NEAR(result.data<float>()[i * 6 + k], row[k], 1e-6) << ids[i];
      }
    }
    const Tensor none = session.run({{"id", Tensor(i64, {0, 2})}}, {y})[0];
    EXPECT_EQ(none.shape(), (std::vector<std::int64_t>{0, 2, 6}));
  }
}

TEST(HashedNgrams, SumsTheRowsOfAllNgrams) {
  const std::vector<std::int64_t> words{5, 6, 7, 5, 6, 9}, splits{0, 3, 3, 6};
  Program program;
  const Value ids = program.input("words", i64, ragged());
  const Value y = hashed_ngrams(ids, {.num_buckets = 13, .dim = 4, .min_length = 2, .hashes = 2});
  Session session(program, {.threads = 1});
  const Tensor table = counted_numbers({13, 2});
  session.set_parameter("hashed_ngrams_0.weight", table);
  const Tensor result = session.run({{"words", Tensor::from<std::int64_t>({6}, words)},
                                     {"words.splits", Tensor::from<std::int64_t>({4}, splits)}},
                                    {y})[0];
  ASSERT_EQ(result.shape(), (std::vector<std::int64_t>{3, 4}));
  for (std::size_t s = 0; s < 3; ++s) {
    std::vector<double> total(4);
    int count = 0;
    for (std::int64_t length = 2; length <= 3; ++length) {
      for (std::int64_t i = splits[s]; i + length <= splits[s + 1]; ++i, ++count) {
        Word key = murmur(static_cast<Word>(length));
        for (std::int64_t k = 0; k < length; ++k) {
          key = murmur((key * 31u) ^ key_of_id(words[static_cast<std::size_t>(i + k)]));
        }
        const std::vector<double> row = row_of_key(key, table, 2, false, 1);
        for (std::size_t k = 0; k < 4; ++k) total[k] += row[k];
      }
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const double expected = count == 0 ? 0 : total[k] / std::sqrt(count);
      EXPECT_NEAR(result.data<float>()[s * 4 + k], expected, 1e-5) << s;
    }
  }
}

TEST(Hashed, RefusesOtherOptions) {
  Program program;
  const Value x = program.input("x", f32, {batch, 4});
  const Value id = program.input("id", i64, {batch});
  const auto refusal = [](const auto& f) { return error_of(ErrorKind::usage, f); };
  EXPECT_THAT(refusal([&] { hashed_linear(x, {.units = 3}); }), HasSubstr("num_weights"));
  EXPECT_THAT(refusal([&] { hashed_linear(x, {.units = 1 << 30, .num_weights = 3}); }),
              HasSubstr("2^32"));
  EXPECT_THAT(refusal([&] { hashed_linear(x, {.units = 3, .num_weights = 3, .hashes = 0}); }),
              HasSubstr("from 1 to 64"));
  EXPECT_THAT(refusal([&] { hashed_embedding(x, {.num_buckets = 3, .dim = 3}); }),
              HasSubstr("must be integers"));
  EXPECT_THAT(refusal([&] {
                hashed_embedding(id, {.num_buckets = 3, .dim = 3, .combine = HashCombine::concat});
              }),
              HasSubstr("into 2 rows"));
  EXPECT_THAT(refusal([&] { hashed_ngrams(id, {.num_buckets = 3, .dim = 4, .max_length = 17}); }),
              HasSubstr("from 1 to 16"));
  EXPECT_THAT(refusal([&] { hashed_ngrams(id, {.num_buckets = 3, .dim = 4}); }),
              HasSubstr("hashed_test.cc"));
}

}  // namespace
}  // namespace trireme::nn
