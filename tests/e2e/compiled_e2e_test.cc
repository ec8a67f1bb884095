// Models compiled ahead of time against the Session that they were saved from, in C++ and C.

#include <gmock/gmock.h>
#include <trireme/c.h>

#include <cmath>
#include <cstring>
#include <random>

#include "../command.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

// Uniform in [-1, 1).
Tensor noise(const std::vector<std::int64_t>& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor result(f32, shape);
  for (std::int64_t i = 0; i < result.elements(); ++i) result.data<float>()[i] = uniform(random);
  return result;
}

Value lenet(const Value& image) { return softmax(models::lenet(image, {})); }

Value residual(const Value& image) {
  return softmax(
      models::resnet(image, {.width = 0.5, .shortcut = models::Shortcut::project, .classes = 5}));
}

class Compiled : public InFolder {
 protected:
  // Saves the network with parameters that are all random, statistics of batch_norm too.
  Model saved(const std::vector<std::int64_t>& image, Value (*network)(const Value&),
              const std::vector<std::string>& labels = {}) {
    Program program("net");
    Shape shape{batch};
    for (const std::int64_t size : image) shape.push_back(size);
    const Value input = program.input("image", f32, shape);
    const Value output = network(input);
    Session session(program);
    unsigned seed = 3;
    for (const Value& parameter : program.parameters()) {
      const std::string name = parameter.name().substr(1);
      if (name.find("running") == std::string::npos) continue;
      Tensor value = noise(session.parameter(name).shape(), seed++);
      const bool variance = name.find("var") != std::string::npos;
      for (std::int64_t i = 0; variance && i < value.elements(); ++i) {
        value.data<float>()[i] = 1.5f + value.data<float>()[i];
      }
      session.set_parameter(name, value);
    }
    save_model(
        program, session, path("model"),
        {.inputs = {input}, .outputs = {output}, .output_names = {"scores"}, .labels = labels});
    return load_model(path("model"));
  }
};

// Sums are added in another order than by the libraries: a few units in the last place of values
// up to 1.
constexpr double kBound = 2e-6;

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.type_str(), b.type_str());
  double worst = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double difference = a.data<float>()[i] - b.data<float>()[i];
    worst = std::isnan(difference) ? 1 : std::max(worst, std::abs(difference));
  }
  return worst;
}

void expect_same_predictions(Model& model, const std::string& compiled,
                             std::vector<std::int64_t> shape) {
  for (const int threads : {1, 2}) {
    CompiledModel loaded = CompiledModel::load(compiled, {.threads = threads});
    for (const std::int64_t n : {1, 3, 16, 3}) {
      shape[0] = n;
      const Feeds feeds{{"image", noise(shape, static_cast<unsigned>(n))}};
      const Tensor expected = model.predict(feeds).at(0);
      const Tensor actual = loaded.predict(feeds).at(0);
      EXPECT_LE(largest_difference(actual, expected), kBound) << n << " at " << threads;
      EXPECT_TRUE(equal(actual, loaded.predict(feeds).at(0))) << "another result the second time";
    }
  }
}

TEST_F(Compiled, LeNetPredictsWhatTheSessionDoes) {
  Model model = saved({1, 28, 28}, lenet, {"a", "b"});
  const CompiledSize size = compile_model(model, path("compiled"));
  EXPECT_GT(size.kernels, 3);
  expect_same_predictions(model, path("compiled"), {1, 1, 28, 28});
  const CompiledModel loaded = CompiledModel::load(path("compiled"));
  EXPECT_EQ(loaded.name(), "net");
  EXPECT_EQ(loaded.target(), size.target);
  EXPECT_EQ(loaded.labels(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(loaded.inputs().at(0).name, "image");
  EXPECT_EQ(str(loaded.inputs().at(0).shape), "[batch, 1, 28, 28]");
  EXPECT_EQ(loaded.outputs().at(0).name, "scores");
  EXPECT_EQ(str(loaded.outputs().at(0).shape), "[batch, 10]");
}

TEST_F(Compiled, ANetworkWithBatchNormPredictsWhatTheSessionDoes) {
  Model model = saved({3, 12, 12}, residual);
  for (const std::string target : {"native", "x86-64-v3"}) {
    compile_model(model, path(target), {.target = target});
    expect_same_predictions(model, path(target), {1, 3, 12, 12});
  }
}

// Kernels that are loops of ours, products whose second matrix is fed, and maths of the C library.
TEST_F(Compiled, OpsBeyondNetworks) {
  Program program("ops");
  const Value x = program.input("x", f64, {batch, 6});
  const Value w = program.input("w", f64, {6, 4});
  Session session(program);
  save_model(
      program, session, path("model"),
      {.outputs = {erf(exp(x)), cumsum(x, {.axis = 1}), matmul(x, w), argsort(x, {.axis = 1})}});
  Model model = load_model(path("model"));
  compile_model(model, path("compiled"));
  CompiledModel compiled = CompiledModel::load(path("compiled"));
  const Tensor in = noise({5, 6}, 1).cast(f64), weight = noise({6, 4}, 2).cast(f64);
  const std::vector<Tensor> out = compiled.predict({{"x", in}, {"w", weight}});
  const double* a = in.data<double>();
  for (std::int64_t i = 0; i < 5; ++i) {
    double sum = 0;
    std::int64_t smallest = 0;
    for (std::int64_t j = 0; j < 6; ++j) {
      EXPECT_NEAR(out[0].data<double>()[i * 6 + j], std::erf(std::exp(a[i * 6 + j])), 1e-15);
      EXPECT_NEAR(out[1].data<double>()[i * 6 + j], sum += a[i * 6 + j], 1e-15);
      if (a[i * 6 + j] < a[i * 6 + smallest]) smallest = j;
    }
    for (std::int64_t k = 0; k < 4; ++k) {
      double product = 0;
      for (std::int64_t j = 0; j < 6; ++j) {
        product += a[i * 6 + j] * weight.data<double>()[j * 4 + k];
      }
      EXPECT_NEAR(out[2].data<double>()[i * 4 + k], product, 1e-14);
    }
    EXPECT_EQ(out[3].data<std::int64_t>()[i * 6], smallest);
  }
}

// Tables by ids, many inputs, and ids that no table has.
TEST_F(Compiled, AModelOfIdsAndNumbers) {
  Program program("clicks");
  const Value place = program.input("place", i64, {batch}),
              day = program.input("day", i64, {batch});
  const Value numbers = program.input("numbers", f32, {batch, 3});
  const Value score =
      sigmoid(models::wide_and_deep({{place, 40}, {day, 7}}, numbers, {.crosses = {{0, 1}}}));
  Session session(program);
  save_model(program, session, path("model"), {.outputs = {score}});
  Model model = load_model(path("model"));
  compile_model(model, path("compiled"));
  CompiledModel compiled = CompiledModel::load(path("compiled"), {.threads = 2});
  Feeds feeds{{"place", Tensor::from<std::int64_t>({3}, {0, 39, 17})},
              {"day", Tensor::from<std::int64_t>({3}, {6, 0, 3})},
              {"numbers", noise({3, 3}, 4)}};
  const Tensor expected = model.predict(feeds).at(0);
  EXPECT_LE(largest_difference(compiled.predict(feeds).at(0), expected), kBound);
  feeds["day"].data<std::int64_t>()[1] = 7;
  fails(ErrorKind::data, "index 7 at [1", [&] { compiled.predict(feeds); });
  feeds["day"].data<std::int64_t>()[1] = 0;
  EXPECT_LE(largest_difference(compiled.predict(feeds).at(0), expected), kBound);
}

TEST_F(Compiled, CRunsOnTheCallersMemory) {
  Model model = saved({1, 28, 28}, lenet, {"shirt", "boot"});
  compile_model(model, path("compiled"));
  trireme_model* loaded = nullptr;
  ASSERT_EQ(trireme_load(path("compiled").c_str(), 2, &loaded), TRIREME_OK) << trireme_error();
  EXPECT_STREQ(trireme_name(loaded), "net");
  ASSERT_EQ(trireme_inputs(loaded), 1u);
  ASSERT_EQ(trireme_outputs(loaded), 1u);
  EXPECT_EQ(trireme_input(loaded, 1), nullptr);
  EXPECT_EQ(trireme_labels(loaded), 2u);
  EXPECT_STREQ(trireme_label(loaded, 1), "boot");
  EXPECT_EQ(trireme_label(loaded, 2), nullptr);
  const trireme_port* port = trireme_input(loaded, 0);
  EXPECT_STREQ(port->name, "image");
  EXPECT_EQ(port->dtype, TRIREME_F32);
  ASSERT_EQ(port->rank, 4);
  EXPECT_EQ(port->shape[0], -1);
  EXPECT_EQ(port->shape[3], 28);

  const Tensor image = noise({3, 1, 28, 28}, 9);
  // Memory that is aligned to its elements and no better.
  std::vector<float> pixels(3 * 784 + 1), scores(32, -7);
  std::memcpy(pixels.data() + 1, image.bytes(), image.size_bytes());
  trireme_tensor in{pixels.data() + 1, image.size_bytes(), TRIREME_F32, 4, {3, 1, 28, 28}};
  trireme_tensor out{};
  ASSERT_EQ(trireme_plan_outputs(loaded, &in, 1, &out, 1), TRIREME_OK) << trireme_error();
  EXPECT_EQ(out.bytes, 3 * 10 * sizeof(float));
  EXPECT_EQ(out.shape[1], 10);
  out.data = scores.data() + 1;
  ASSERT_EQ(trireme_run(loaded, &in, 1, &out, 1), TRIREME_OK) << trireme_error();
  Tensor result(f32, {3, 10});
  std::memcpy(result.bytes(), out.data, out.bytes);
  EXPECT_LE(largest_difference(result, model.predict({{"image", image}}).at(0)), kBound);
  EXPECT_EQ(scores[0], -7);
  EXPECT_EQ(scores[31], -7);

  const auto refused = [&](const char* why) {
    EXPECT_EQ(trireme_run(loaded, &in, 1, &out, 1), TRIREME_USAGE);
    EXPECT_THAT(trireme_error(), HasSubstr(why));
  };
  out.bytes -= 1;
  refused("scores takes 120 bytes, and there are 119");
  out.bytes += 1;
  in.bytes -= 4;
  refused("image takes 9408 bytes");
  in.bytes += 4;
  in.shape[3] = 27;
  refused("axis 3 must be 28");
  in.shape[3] = 28;
  in.shape[0] = -3;
  refused("axis 0 is below 0");
  in.shape[0] = 3;
  in.dtype = TRIREME_F64;
  refused("f64[3, 1, 28, 28]");
  in.dtype = static_cast<trireme_dtype>(77);
  refused("no such dtype");
  in.dtype = TRIREME_F32;
  in.rank = 99;
  refused("no such dtype or rank");
  in.rank = 4;
  out.data = nullptr;
  refused("there are 0");
  EXPECT_EQ(trireme_run(loaded, &in, 0, &out, 1), TRIREME_USAGE);
  EXPECT_EQ(trireme_run(loaded, &in, 1, nullptr, 1), TRIREME_USAGE);
  out.data = scores.data() + 1;
  EXPECT_EQ(trireme_run(loaded, &in, 1, &out, 1), TRIREME_OK) << trireme_error();
  trireme_free(loaded);
  trireme_free(nullptr);
}

#ifdef TRIREME_WITH_EXAMPLES
TEST_F(Compiled, TheExampleInCClassifiesPictures) {
  Model model = saved({1, 28, 28}, lenet, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"});
  const Outcome compiled =
      run_here(std::string(TRIREME_CLI) + " compile model --target native -o compiled");
  ASSERT_EQ(compiled.code, 0) << compiled.output;
  std::string pixels;
  Tensor image(f32, {1, 1, 28, 28});
  for (int i = 0; i < 784; ++i) {
    pixels += static_cast<char>(i * 37 % 256);
    image.data<float>()[i] = static_cast<float>(i * 37 % 256) / 255.0f;
  }
  write(path("one.pgm"), "P5\n28 28\n255\n" + pixels);
  const Outcome outcome =
      run_here(std::string(TRIREME_EXAMPLES) + "/c_predict --scores compiled one.pgm");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const Tensor expected = model.predict({{"image", image}}).at(0);
  std::istringstream words(outcome.output);
  std::string name;
  words >> name;
  EXPECT_EQ(name, "one.pgm");
  for (int k = 0; k < 10; ++k) {
    float score = -1;
    words >> score;
    EXPECT_NEAR(score, expected.data<float>()[k], kBound);
  }
  write(path("short.pgm"), "P5\n28 28\n255\n" + pixels.substr(1));
  const Outcome refused = run_here(std::string(TRIREME_EXAMPLES) + "/c_predict compiled short.pgm");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.output, HasSubstr("short.pgm"));
}
#endif

}  // namespace
}  // namespace trireme::testing
