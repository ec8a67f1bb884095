// tests/conformance compares values and gradients with PyTorch. These tests cover integers, no
// elements, symbolic sizes and errors; their oracle of einsum is a loop over all indices.

#include "trireme/linalg.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <map>

#include "nn/testing/running.h"

namespace trireme::nn {
namespace {

using ops::RefTensor;
using ops::RefTensors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Sizes = std::map<char, std::int64_t>;

// The sum over all indices of the products, from its definition. `terms` are "ij", "jk" ...
RefTensor plain_einsum(const std::vector<std::string>& terms, const std::string& result,
                       const std::vector<RefTensor>& operands) {
  Sizes sizes, index;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    for (std::size_t i = 0; i < terms[t].size(); ++i) sizes[terms[t][i]] = operands[t].shape[i];
  }
  const auto position = [&](const std::string& letters) {
    std::size_t place = 0;
    for (const char c : letters)
      place = place * static_cast<std::size_t>(sizes[c]) + static_cast<std::size_t>(index[c]);
    return place;
  };
  std::vector<std::int64_t> shape;
  for (const char c : result) shape.push_back(sizes[c]);
  RefTensor total(shape);
  std::int64_t count = 1;
  for (const auto& [letter, size] : sizes) count *= size;
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = n;
    for (const auto& [letter, size] : sizes) {
      index[letter] = rest % size;
      rest /= size;
    }
    double product = 1;
    for (std::size_t t = 0; t < terms.size(); ++t) product *= operands[t].data[position(terms[t])];
    total.data[position(result)] += product;
  }
  return total;
}

RefTensor evaluated(const std::string& equation, const std::vector<RefTensor>& operands,
                    DType dtype, bool symbolic = false) {
  Program program;
  RefTensors inputs, none;
  std::vector<Value> values;
  for (const RefTensor& operand : operands) {
    const std::string name = "x" + std::to_string(values.size());
    Shape shape(operand.shape.begin(), operand.shape.end());
    if (symbolic) {
      for (Dim& size : shape) size = size == Dim(5) ? batch : size;
    }
    values.push_back(program.input(name, dtype, shape));
    inputs[name] = operand;
  }
  const Value y = einsum(equation, values);
  return run(program, y, inputs, none);
}

TEST(Einsum, EqualsItsDefinition) {
  const std::vector<std::vector<std::string>> equations = {{"ij", "jk", "ik"},
                                                           {"ij", "jk", "ki"},
                                                           {"bij", "bjk", "bik"},
                                                           {"ij", "j", "i"},
                                                           {"i", "j", "ij"},
                                                           {"i", "i", ""},
                                                           {"ij", "ij", "ij"},
                                                           {"ijk", "kl", "jli"},
                                                           {"ij", "ji"},
                                                           {"ii", "i"},
                                                           {"iij", "ji"},
                                                           {"ijk", ""},
                                                           {"ii", ""},
                                                           {"ij", "kl", "jl"},
                                                           {"abc", "cbd", "bd", "ad"},
                                                           {"ij", "jk", "kl", "li", ""},
                                                           {"aab", "bcc", "cab"},
                                                           {"", "i", "i"},
                                                           {"i", "i", "i", "i"},
                                                           {"bhqd", "bhkd", "bhqk"}};
  const Sizes size{{'a', 3}, {'b', 2}, {'c', 4}, {'d', 3}, {'h', 2},
                   {'i', 3}, {'j', 5}, {'k', 2}, {'l', 4}, {'q', 3}};
  for (const auto& equation : equations) {
    const std::vector<std::string> terms(equation.begin(), equation.end() - 1);
    const std::string& result = equation.back();
    std::string text;
    std::vector<RefTensor> operands;
    for (const std::string& term : terms) {
      text += (text.empty() && operands.empty() ? "" : ", ") + term;
      std::vector<std::int64_t> shape;
      for (const char c : term) shape.push_back(size.at(c));
      operands.push_back(noise(shape, static_cast<unsigned>(operands.size()) + 3));
    }
    const RefTensor expected = plain_einsum(terms, result, operands);
    const auto same = testing::Pointwise(testing::DoubleNear(1e-12), expected.data);
    for (const bool symbolic : {false, true}) {
      const RefTensor y = evaluated(text + " -> " + result, operands, f64, symbolic);
      EXPECT_EQ(y.shape, expected.shape) << text;
      EXPECT_THAT(y.data, same) << text;
    }
    for (RefTensor& operand : operands) {
      for (double& x : operand.data) x = static_cast<double>(static_cast<int>(4 * x));
    }
    EXPECT_EQ(evaluated(text + "->" + result, operands, i64).data,
              plain_einsum(terms, result, operands).data)
        << text;
  }
}

TEST(Einsum, ImplicitResults) {
  const RefTensor a = noise({3, 2}, 1), b = noise({2, 4}, 2), s = noise({3, 3}, 3);
  EXPECT_EQ(evaluated("ij,jk", {a, b}, f64).data, plain_einsum({"ij", "jk"}, "ik", {a, b}).data);
  EXPECT_EQ(evaluated("ba", {a}, f64).data, plain_einsum({"ba"}, "ab", {a}).data);
  EXPECT_EQ(evaluated("ii", {s}, f64).data, plain_einsum({"ii"}, "", {s}).data);
  EXPECT_EQ(evaluated("ij,Jk", {a, b}, f64).shape, (std::vector<std::int64_t>{2, 3, 2, 4}));
}

TEST(Einsum, EllipsisAndSizeOne) {
  const RefTensor a = noise({5, 1, 3, 2}, 1), b = noise({4, 2, 6}, 2);
  RefTensor b4 = b, a3 = a;
  b4.shape = {1, 4, 2, 6};
  // The axis of size 1 has its own letter in the oracle.
  const RefTensor expected = plain_einsum({"xoij", "pyjk"}, "xyik", {a, b4});
  const RefTensor y = evaluated("...ij,...jk", {a, b}, f64);
  EXPECT_EQ(y.shape, expected.shape);
  EXPECT_THAT(y.data, testing::Pointwise(testing::DoubleNear(1e-12), expected.data));
  const RefTensor turned = evaluated("...ij,...jk->k...i", {a, b}, f64);
  EXPECT_EQ(turned.shape, (std::vector<std::int64_t>{6, 5, 4, 3}));
  EXPECT_THAT(turned.data,
              testing::Pointwise(testing::DoubleNear(1e-12),
                                 plain_einsum({"xoij", "pyjk"}, "kxyi", {a, b4}).data));
  EXPECT_THAT(evaluated("i,i->", {tensor({1}, {3}), tensor({2}, {4, 5})}, f64).data,
              ElementsAre(27));
}

TEST(Einsum, NoElements) {
  EXPECT_THAT(evaluated("ij,jk->ik", {RefTensor({2, 0}), RefTensor({0, 1})}, f64).data,
              ElementsAre(0, 0));
  EXPECT_THAT(evaluated("ij,jk->ik", {RefTensor({0, 2}), RefTensor({2, 1})}, f64).data, IsEmpty());
}

TEST(Einsum, RejectsInvalidEquations) {
  Program program;
  const Value a = program.input("a", f32, {2, 3}), b = program.input("b", f32, {3, batch});
  const Value i = program.input("i", i64, {3});
  const auto refused = [&](const std::string& equation, const std::vector<Value>& operands) {
    return refusal_here([&] { einsum(equation, operands); });
  };
  EXPECT_THAT(refused("ij,jk->ik", {a}), HasSubstr("2 terms for 1 operands"));
  EXPECT_THAT(refused("ij->ij", {a, b}), HasSubstr("1 terms for 2 operands"));
  EXPECT_THAT(refused("ijk->i", {a}), HasSubstr("3 letters for %a"));
  EXPECT_THAT(refused("ij,kj->i", {a, b}), HasSubstr("letter j has the sizes 3 and batch"));
  EXPECT_THAT(refused("ii->i", {a}), HasSubstr("the axes i of %a"));
  EXPECT_THAT(refused("ij->ik", {a}), HasSubstr("no operand has the letter k"));
  EXPECT_THAT(refused("ij->ii", {a}), HasSubstr("the letter i twice"));
  EXPECT_THAT(refused("i1->i", {a}), HasSubstr("\"1\" is not expected"));
  EXPECT_THAT(refused("i.j->i", {a}), HasSubstr("\".\" is not expected"));
  EXPECT_THAT(refused("......->...", {a}), HasSubstr("\".\" is not expected"));
  EXPECT_THAT(refused("ij->i->j", {a}), HasSubstr("is not expected"));
  EXPECT_THAT(refused("i...->i", {a}), HasSubstr("the result lacks"));
  EXPECT_THAT(refused("ij,j->i", {a, i}), HasSubstr("one numeric dtype"));
  EXPECT_THAT(refused("ij", {Value()}), HasSubstr("the value is empty"));
  EXPECT_THAT(refused("", {}), HasSubstr("the value is empty"));
}

TEST(BroadcastMatmul, ShapesAsNumpyHasThem) {
  Program program;
  const auto shape = [&](const Shape& a, const Shape& b) {
    static int n = 0;
    const std::string name = "x" + std::to_string(n++);
    return broadcast_matmul(program.input(name + "a", f32, a), program.input(name + "b", f32, b))
        .shape();
  };
  EXPECT_EQ(shape({3}, {3}), Shape());
  EXPECT_EQ(shape({3}, {3, 4}), (Shape{Dim(4)}));
  EXPECT_EQ(shape({2, 3}, {3}), (Shape{Dim(2)}));
  EXPECT_EQ(shape({3}, {batch, 3, 4}), Shape({batch, 4}));
  EXPECT_EQ(shape({batch, 1, 2, 3}, {5, 3, 4}), Shape({batch, 5, 2, 4}));
  EXPECT_EQ(shape({1, 2, 3}, {batch, 3, 4}), Shape({batch, 2, 4}));
  EXPECT_EQ(shape({2, 3}, {batch, 3, 4}), Shape({batch, 2, 4}));
  EXPECT_EQ(shape({batch, 2, 3}, {1, 3, 4}), Shape({batch, 2, 4}));
  EXPECT_EQ(shape({2, 3}, {1, 1, 3, 4}), Shape({1, 1, 2, 4}));
  EXPECT_EQ(shape({1, 1, 2, 3}, {3, 4}), Shape({1, 1, 2, 4}));
  EXPECT_THAT(refusal_here([&] { shape({batch, 2, 3}, {5, 3, 4}); }), HasSubstr("leading"));
  EXPECT_THAT(refusal_here([&] { shape({2, 3}, {4, 3}); }), HasSubstr("inner dimensions"));
  EXPECT_THAT(refusal_here([&] { shape({}, {4, 3}); }), HasSubstr("a scalar"));
}

}  // namespace
}  // namespace trireme::nn
