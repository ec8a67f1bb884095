#include "session/metrics/sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/testing/error.h"

namespace trireme {
namespace {

TEST(MetricSum, ASmallLastBatchWeighsByItsExamples) {
  MetricSum sum(std::vector<Metric>{{"loss", {}}, {"accuracy", {}}});
  sum.add({Tensor::scalar(1.0f), Tensor::scalar(0.5f)}, 60);
  sum.add({Tensor::scalar(4.0f), Tensor::scalar(1.0f)}, 20);
  const Metrics metrics = sum.result();
  EXPECT_DOUBLE_EQ(metrics["loss"], (60 * 1.0 + 20 * 4.0) / 80);
  EXPECT_DOUBLE_EQ(metrics["accuracy"], 0.625);
  EXPECT_EQ(metrics.examples(), 80);
  EXPECT_TRUE(metrics.has("loss"));
  EXPECT_FALSE(metrics.has("lost"));
  std::ostringstream out;
  out << metrics;
  EXPECT_EQ(out.str(), "loss 1.75  accuracy 0.625");
}

TEST(MetricSum, RatiosBringTheirWeights) {
  const std::vector<Metric> metrics = {
      {"loss", {}},
      {.name = "share", .value = {}, .combine = Metric::Combine::ratio},
      {.name = "root",
       .value = {},
       .combine = Metric::Combine::ratio,
       .finish = [](const Tensor& mean) { return std::sqrt(mean.item<double>()); }}};
  MetricSum sum(metrics);
  const auto add = [](MetricSum& to, float number, float weight) {
    const Tensor ratio = Tensor::from<float>({2}, {number, weight});
    to.add({Tensor::scalar(1.0f), ratio, ratio}, 10);
  };
  add(sum, 0, 0);
  EXPECT_TRUE(std::isnan(sum.result()["share"]));
  EXPECT_TRUE(std::isnan(sum.result()["root"]));
  add(sum, 3, 4);
  MetricSum restored(metrics);
  restored.restore(sum.sums(), sum.examples());
  for (MetricSum* each : {&sum, &restored}) {
    add(*each, 3, 20);
    EXPECT_DOUBLE_EQ(each->result()["share"], 6.0 / 24);
    EXPECT_DOUBLE_EQ(each->result()["root"], 0.5);
    EXPECT_EQ(each->result().examples(), 30);
  }
  auto sums = sum.sums();
  sums.pop_back();
  EXPECT_NE(error_of([&] { restored.restore(sums, 30); }), "");
}

TEST(MetricSum, SumsAddElementByElement) {
  MetricSum sum(std::vector<Metric>{{"confusion", {}, Metric::Combine::sum}});
  sum.add({Tensor::from<float>({2, 2}, {1, 0, 2, 3})}, 6);
  sum.add({Tensor::from<float>({2, 2}, {0, 1, 0, 1})}, 2);
  const Metrics metrics = sum.result();
  EXPECT_EQ(metrics.tensor("confusion").to_vector<double>(), (std::vector<double>{1, 1, 2, 4}));
  EXPECT_EQ(metrics.str(), "");
}

TEST(MetricSum, ABatchWithoutExamplesChangesNothing) {
  const auto first = [](const Tensor& all) { return all.data<double>()[0]; };
  MetricSum sum(std::vector<Metric>{
      {.name = "mean", .value = {}},
      {.name = "sum", .value = {}, .combine = Metric::Combine::sum, .finish = first}});
  sum.add({Tensor::scalar(std::nanf("")), Tensor::from<float>({1}, {0})}, 0);
  EXPECT_TRUE(std::isnan(sum.result()["mean"]));
  EXPECT_TRUE(std::isnan(sum.result()["sum"])) << "there were no examples";
  sum.add({Tensor::scalar(2.0f), Tensor::from<float>({1}, {3})}, 5);
  sum.add({Tensor::scalar(std::nanf("")), Tensor::from<float>({1}, {0})}, 0);
  EXPECT_EQ(sum.result()["mean"], 2);
  EXPECT_EQ(sum.result()["sum"], 3);
}

TEST(MetricSum, JoinsInOrderAndFinishesOnce) {
  const auto last = [](const Tensor& all) { return all.to_vector<float>().back() + all.dim(0); };
  const auto root = [](const Tensor& all) { return std::sqrt(all.item<double>()); };
  MetricSum sum(std::vector<Metric>{
      {.name = "all", .value = {}, .combine = Metric::Combine::join},
      {.name = "last", .value = {}, .combine = Metric::Combine::join, .finish = last},
      {.name = "root", .value = {}, .finish = root}});
  const auto add = [&](const std::vector<float>& values, float mean) {
    const auto n = static_cast<std::int64_t>(values.size());
    const Tensor part = Tensor::from<float>({n}, values);
    sum.add({part, part, Tensor::scalar(mean)}, n);
  };
  add({1, 2, 3}, 4);
  add({}, 0);
  add({5}, 16);
  const Metrics metrics = sum.result();
  EXPECT_EQ(metrics.tensor("all").to_vector<float>(), (std::vector<float>{1, 2, 3, 5}));
  EXPECT_EQ(metrics["last"], 5 + 4);
  EXPECT_DOUBLE_EQ(metrics["root"], std::sqrt((3 * 4 + 16) / 4.0));
  EXPECT_FALSE(metrics.has("all"));
}

TEST(MetricSum, APartOfAnotherShapeIsTold) {
  for (const auto combine : {Metric::Combine::sum, Metric::Combine::join}) {
    MetricSum sum(std::vector<Metric>{{"rows", {}, combine}});
    sum.add({Tensor(f32, {2, 3})}, 2);
    EXPECT_THROW(sum.add({Tensor(f32, {2, 4})}, 2), Error);
  }
  MetricSum sum(std::vector<Metric>{{"scalars", {}, Metric::Combine::join}});
  EXPECT_THROW(sum.add({Tensor::scalar(1.0f)}, 1), Error);
}

// Training in pieces measures what training in one go measures.
TEST(MetricSum, GoesOnFromACheckpoint) {
  const auto root = [](const Tensor& all) { return std::sqrt(all.item<double>()); };
  const std::vector<Metric> metrics{{"loss", {}}, {.name = "rmse", .value = {}, .finish = root}};
  MetricSum whole(metrics), first(metrics), second(metrics);
  const auto add = [](MetricSum& sum, float value, std::int64_t n) {
    sum.add({Tensor::scalar(value), Tensor::scalar(value * 3)}, n);
  };
  add(whole, 0.1f, 7);
  add(first, 0.1f, 7);
  second.restore(first.sums(), first.examples());
  for (MetricSum* sum : {&whole, &second}) add(*sum, 0.7f, 5);
  EXPECT_EQ(second.result()["rmse"], whole.result()["rmse"]);
  EXPECT_EQ(second.result()["loss"], whole.result()["loss"]);
}

TEST(MetricSum, AnUnknownNameIsToldWithTheNearest) {
  MetricSum sum(std::vector<Metric>{{"accuracy", {}}});
  sum.add({Tensor::scalar(1.0f)}, 1);
  const std::string error = error_of(ErrorKind::not_found, [&] { sum.result()["acuracy"]; });
  EXPECT_NE(error.find("did you mean \"accuracy\"?"), std::string::npos) << error;
}

TEST(Confusion, PrintsRecallsAndDots) {
  const std::string text =
      confusion_table(Tensor::from<float>({2, 2}, {9, 1, 0, 4}), {"shirt", "ankle boot"});
  EXPECT_EQ(text,
            "      true  shirt ankle   recall\n"
            "     shirt      9     1   0.900\n"
            "ankle boot      .     4   1.000\n");
}

}  // namespace
}  // namespace trireme
