#include "session/metric_sum.h"

#include <gtest/gtest.h>

#include <sstream>

#include "trireme/error.h"

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

TEST(MetricSum, SumsAddElementByElement) {
  MetricSum sum(std::vector<Metric>{{"confusion", {}, Metric::Combine::sum}});
  sum.add({Tensor::from<float>({2, 2}, {1, 0, 2, 3})}, 6);
  sum.add({Tensor::from<float>({2, 2}, {0, 1, 0, 1})}, 2);
  const Metrics metrics = sum.result();
  EXPECT_EQ(metrics.tensor("confusion").to_vector<double>(), (std::vector<double>{1, 1, 2, 4}));
  EXPECT_EQ(metrics.str(), "");
}

TEST(MetricSum, AnUnknownNameIsToldWithTheNearest) {
  MetricSum sum(std::vector<Metric>{{"accuracy", {}}});
  sum.add({Tensor::scalar(1.0f)}, 1);
  try {
    sum.result()["acuracy"];
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_NE(std::string(error.what()).find("did you mean \"accuracy\"?"), std::string::npos);
  }
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
