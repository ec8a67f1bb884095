// What `trireme eval` measures of a saved model: what its job measured, whatever the loss.

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "../command.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

const std::string kTrireme = TRIREME_CLI;

class Eval : public InFolder {
 protected:
  std::string succeeds(const std::string& command) {
    const Outcome outcome = run_here(command);
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.output;
    return outcome.output;
  }
  // Rows of two numbers and what `target` makes of them and of noise in [0, 10].
  template <class Target>
  void write_rows(DType dtype, const Target& target) {
    constexpr std::int64_t kRows = 150;
    Tensor x(f32, {kRows, 2}), y(f32, {kRows});
    for (std::int64_t i = 0; i < kRows; ++i) {
      const double a = static_cast<double>(i * 37 % 101) / 50 - 1;
      const double b = static_cast<double>(i * 53 % 97) / 48 - 1;
      x.data<float>()[i * 2] = static_cast<float>(a);
      x.data<float>()[i * 2 + 1] = static_cast<float>(b);
      y.data<float>()[i] = static_cast<float>(target(a, b, static_cast<double>(i * 29 % 11)));
    }
    data::write_records(path("rows.trec"),
                        data::from_tensors({{"a", x}, {"target", y.cast(dtype)}}));
  }
  // Trains a job with these lines in [train], and expects of eval what train printed.
  void expect_same(const std::string& train, int units) {
    write(path("job.toml"),
          "[data]\ntrain = \"rows.trec\"\ntest = \"rows.trec\"\nbatch = 10\n[model]\n"
          "layers = [{ linear = { units = 8, activation = \"tanh\" } }, { linear = { units = " +
              std::to_string(units) + " } }]\n[train]\nepochs = 5\n" + train);
    const std::string output = succeeds(kTrireme + " train job.toml -o model");
    const auto json =
        nlohmann::json::parse(succeeds(kTrireme + " eval model --data rows.trec --batch 7 --json"));
    EXPECT_EQ(json.at("examples"), 150);
    int compared = 0;
    for (const auto& [name, value] : json.items()) {
      const std::size_t at = output.find("test " + name + ": ");
      if (at == std::string::npos) continue;
      const double printed = std::strtod(output.c_str() + at + name.size() + 7, nullptr);
      EXPECT_NEAR(value.get<double>(), printed, 1e-4) << name << "\n" << train;
      ++compared;
    }
    std::size_t lines = 0;
    for (std::size_t at = 0; (at = output.find("\ntest ", at)) != std::string::npos; ++at) ++lines;
    EXPECT_EQ(compared, static_cast<int>(lines)) << json.dump() << output;
  }
};

TEST_F(Eval, OfZerosAndOnes) {
  write_rows(f32, [](double a, double b, double noise) { return a + b > 0.1 * noise - 0.5; });
  const std::string metrics =
      "metrics = [\"auc\", \"log_loss\", { precision = { threshold = 0.5 } }, \"recall\", "
      "\"f1\", { streaming_auc = { bins = 64, low = -4, high = 4 } }, \"rmse\"]\n";
  for (const std::string loss :
       {"\"binary_cross_entropy\"", "{ focal = { gamma = 1.5 } }", "\"hinge\""}) {
    expect_same("loss = " + loss + "\n" + metrics, 1);
  }
}

TEST_F(Eval, OfClasses) {
  write_rows(i64, [](double a, double b, double noise) { return (a > 0.02 * noise) + (b > 0.3); });
  const std::string target =
      "metrics = [{ top_k_accuracy = { k = 2 } }, \"log_loss\", \"f1\", { recall = { class = 1 } "
      "}]\n";
  for (const std::string loss : {"\"cross_entropy\"", "{ multi_class_hinge = { margin = 2 } }"}) {
    expect_same("loss = " + loss + "\n" + target, 3);
  }
  EXPECT_THAT(succeeds(kTrireme + " eval model --data rows.trec"), HasSubstr("confusion matrix"));
}

TEST_F(Eval, OfNumbers) {
  write_rows(f32, [](double a, double b, double noise) { return 2 + a - b + 0.02 * noise; });
  for (const std::string loss : {"\"mse\"", "{ huber = { delta = 0.5 } }", "\"poisson_nll\""}) {
    expect_same("loss = " + loss + "\nmetrics = [\"rmse\", \"mae\", \"r2\"]\n", 1);
  }
}

// Models of earlier versions do not say what is measured of them; others may say nonsense.
TEST_F(Eval, OfModelsThatDoNotSay) {
  write_rows(f32, [](double a, double b, double) { return a * b; });
  expect_same("loss = \"l1\"\nmetrics = [\"rmse\"]\n", 1);
  auto json = nlohmann::ordered_json::parse(read(path("model/model.json")));
  EXPECT_EQ(json.at("measured").dump(), R"({"loss":"l1","metrics":["rmse"]})");
  json["measured"]["metrics"][0] = "rsme";
  std::filesystem::remove(path("model/checksums.txt"));  // earlier versions wrote none
  write(path("model/model.json"), json.dump());
  const Outcome outcome = run_here(kTrireme + " eval model --data rows.trec");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.output, HasSubstr("model.json: metrics[0]: unknown metric \"rsme\""));
  json.erase("measured");
  write(path("model/model.json"), json.dump());
  const std::string output = succeeds(kTrireme + " eval model --data rows.trec");
  EXPECT_THAT(output, HasSubstr("mse: "));
  EXPECT_THAT(output, ::testing::Not(HasSubstr("rmse: ")));
}

TEST_F(Eval, OfAQuantizedModel) {
  write_rows(f32, [](double a, double b, double) { return a + b > 0.2; });
  write(path("job.toml"),
        "[data]\ntrain = \"rows.trec\"\nbatch = 10\n[model]\nlayers = [{ linear = { units = 16, "
        "activation = \"tanh\" } }, { linear = { units = 1 } }]\n[train]\nepochs = 8\nloss = "
        "\"binary_cross_entropy\"\nmetrics = [\"auc\"]\n");
  succeeds(kTrireme + " train job.toml -o model");
  const auto json = nlohmann::json::parse(
      succeeds(kTrireme + " quantize model --calibrate rows.trec --data rows.trec --max-drop 2 "
                          "-o small --json"));
  EXPECT_EQ(json.at("metric"), "auc");
  EXPECT_EQ(json.at("layers").size(), 2u);
  const auto measured =
      nlohmann::json::parse(succeeds(kTrireme + " eval small --data rows.trec --json"));
  EXPECT_NEAR(measured.at("auc").get<double>(), json.at("after").get<double>(), 1e-9);
  EXPECT_GT(json.at("after").get<double>(), json.at("before").get<double>() - 0.02);
  EXPECT_LT(json.at("parameter_bytes"), json.at("parameter_bytes_before"));

  const auto fails = [&](const std::string& arguments, int code, const std::string& part) {
    const Outcome outcome = run_here(kTrireme + " quantize model -o other " + arguments);
    EXPECT_EQ(outcome.code, code) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(part));
    EXPECT_FALSE(std::filesystem::exists(path("other")));
  };
  fails("", 2, "--calibrate DATA is missing");
  fails("--calibrate rows.trec --range middle", 2, "min_max, percentile, entropy, mse");
  fails("--calibrate rows.trec --max-drop 1", 2, "--max-drop needs --data");
  fails("--calibrate rows.trec --data rows.trec --metric beauty", 2, "beauty");
  fails("--calibrate nowhere.trec", 4, "nowhere.trec");
}

}  // namespace
}  // namespace trireme::testing
