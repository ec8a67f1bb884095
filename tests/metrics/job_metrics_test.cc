// Metrics that a job file asks for.

#include <gmock/gmock.h>

#include <cmath>

#include "../command.h"
#include "session/job/model.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

class JobMetrics : public InFolder {
 protected:
  // Rows of two numbers and whether their sum is positive, in words or as 0 and 1.
  JobMetrics() {
    std::string words = "a,b,answer\n", numbers = words;
    for (int i = 0; i < 200; ++i) {
      const int a = i * 7919 % 41 - 20, b = i * 104729 % 37 - 18;
      const std::string row = std::to_string(a) + "," + std::to_string(b) + ",";
      words += row + (a + b > 0 ? "yes" : "no") + "\n";
      numbers += row + (a + b > 0 ? "1" : "0") + "\n";
    }
    write(path("words.csv"), words);
    write(path("numbers.csv"), numbers);
  }

  Job job(const std::string& file, int units, const std::string& loss, const std::string& train,
          const std::string& rest = "") {
    const std::string data = "{ csv = \"" + file +
                             ".csv\", target = \"answer\", standardize = true, classes = " +
                             (file == "words" ? "true" : "false") + " }";
    return Job::parse("[data]\ntrain = " + data + "\nvalidation = " + data + "\n[model]\n" +
                          "layers = [{ linear = { units = " + std::to_string(units) +
                          " } }]\n[train]\nloss = " + (loss[0] == '{' ? loss : '"' + loss + '"') +
                          "\nepochs = 20\noptimizer = { adam = { learning_rate = 0.02 } }\n" +
                          train + "\n" + rest,
                      path("job.toml"));
  }

  // The metrics of the training data after a fit of the job.
  Metrics trained(Job job) {
    FitOptions options = job.fit_options();
    options.progress = false;
    job.trainer().fit(job.train_data(), options);
    return job.trainer().evaluate(*job.validation_data());
  }

  std::string refusal(const std::string& file, int units, const std::string& loss,
                      const std::string& train) {
    return error_of([&] { job(file, units, loss, train).program(); });
  }
};

TEST_F(JobMetrics, OfClasses) {
  const Metrics m = trained(
      job("words", 2, "cross_entropy",
          "metrics = [\"auc\", \"accuracy\", \"precision\", { recall = { average = \"micro\" } }, "
          "{ f1 = { class = 1 } }, { top_k_accuracy = { k = 2 } }, \"log_loss\", \"perplexity\", "
          "{ streaming_auc = { bins = 512 } }, \"streaming_auc_error\"]\n"
          "early_stopping = { metric = \"auc\" }",
          "[checkpoint]\nbest = \"f1_1\"\n"));
  EXPECT_GT(m["auc"], 0.5);
  EXPECT_NEAR(m["recall_micro"], m["accuracy"], 1e-6);
  EXPECT_EQ(m["top_2_accuracy"], 1);
  EXPECT_NEAR(m["log_loss"], m["loss"], 1e-6);
  EXPECT_NEAR(m["perplexity"], std::exp(m["log_loss"]), 1e-5);
  EXPECT_TRUE(m.has("precision"));
  EXPECT_TRUE(m.has("f1_1"));
  EXPECT_EQ(m.tensors().size(), 1u);
  EXPECT_EQ(m.tensors()[0].first, "confusion");
}

// Labels that the loss ignores are no examples of the metrics either.
TEST_F(JobMetrics, LeaveOutLabelsThatTheLossIgnores) {
  std::string rows = "a,b,answer\n";
  for (int i = 0; i < 300; ++i) {
    const int a = i * 7919 % 41 - 20, b = i * 104729 % 37 - 18;
    const char* answer = i % 3 == 2 ? "unknown" : a + b > 0 ? "yes" : "no";
    rows += std::to_string(a) + "," + std::to_string(b) + "," + answer + "\n";
  }
  write(path("words.csv"), rows);
  const Metrics m = trained(job("words", 3, "{ cross_entropy = { ignore_index = 1 } }",
                                "metrics = [\"recall\", \"log_loss\", \"perplexity\"]"));
  // Without ignore_index no more than two thirds could be right.
  EXPECT_GT(m["accuracy"], 0.9);
  EXPECT_GT(m["recall"], 0.9);
  EXPECT_NEAR(m["perplexity"], std::exp(m["log_loss"]), 1e-5);
  const Tensor confusion = m.tensor("confusion").cast(f64);
  double examples = 0;
  for (const double count : confusion.to_vector<double>()) examples += count;
  EXPECT_EQ(examples, 200);
  EXPECT_THAT(
      refusal("words", 3, "{ cross_entropy = { ignore_index = 1 } }", "metrics = [\"auc\"]"),
      HasSubstr("metric \"auc\" cannot leave out labels"));
}

TEST_F(JobMetrics, OfZerosAndOnes) {
  const Metrics m = trained(job("numbers", 1, "binary_cross_entropy",
                                "metrics = [\"auc\", \"f1\", \"log_loss\", { precision = { "
                                "threshold = 1.5 } }, \"recall\"]"));
  EXPECT_GT(m["auc"], 0.5);
  EXPECT_NEAR(m["log_loss"], m["loss"], 1e-6);
  for (const char* name : {"accuracy", "f1", "precision", "recall"}) EXPECT_TRUE(m.has(name));
}

// Two classes by one logit: ids as targets, of which only 0 and 1 make sense.
TEST_F(JobMetrics, OfTwoClassesAsZerosAndOnes) {
  const Metrics m = trained(job("words", 1, "focal", "metrics = [\"auc\", \"mse\"]"));
  EXPECT_GT(m["auc"], 0.9);
  EXPECT_LT(m["mse"], 0.25) << "of probabilities";
  std::string three = "a,b,answer\n";
  for (int i = 0; i < 9; ++i)
    three += "1,2," + std::string(1, static_cast<char>('x' + i % 3)) + "\n";
  write(path("words.csv"), three);
  fails(ErrorKind::data, "label 2 is out of range", [&] { trained(job("words", 1, "focal", "")); });
}

TEST_F(JobMetrics, OfAgreementAndCalibration) {
  const std::string both =
      "metrics = [\"accuracy\", \"iou\", \"cohen_kappa\", \"matthews_correlation\", "
      "\"average_precision\", { calibration_error = { bins = 10, norm = \"max\" } }]\n"
      "early_stopping = { metric = \"calibration_error_max\" }";
  const Metrics classes = trained(job("words", 2, "cross_entropy", both));
  const Metrics binary = trained(job("numbers", 1, "binary_cross_entropy", both));
  for (const Metrics& m : {classes, binary}) {
    EXPECT_GT(m["accuracy"], 0.7);
    for (const char* name : {"iou", "cohen_kappa", "matthews_correlation", "average_precision"}) {
      EXPECT_GT(m[name], 0.4) << name;
      EXPECT_LE(m[name], 1) << name;
    }
    EXPECT_GT(m["calibration_error_max"], 0);
  }
  const Metrics weighted =
      trained(job("words", 2, "cross_entropy",
                  "metrics = [{ cohen_kappa = { weights = \"linear\" } }, \"cohen_kappa\", "
                  "{ iou = { class = 1 } }]"));
  EXPECT_NEAR(weighted["cohen_kappa_linear"], weighted["cohen_kappa"], 1e-12) << "of two classes";
  EXPECT_TRUE(weighted.has("iou_1"));
  EXPECT_THAT(refusal("numbers", 1, "binary_cross_entropy",
                      "metrics = [{ cohen_kappa = { weights = \"linear\" } }]"),
              HasSubstr("weights"));
  EXPECT_THAT(refusal("numbers", 1, "mse", "metrics = [\"cohen_kappa\"]"),
              HasSubstr("needs a loss of classes or zeros and ones"));
}

TEST_F(JobMetrics, OfQuantilesAndImages) {
  const Metrics m = trained(job("numbers", 1, "l1",
                                "metrics = [\"mae\", \"median_absolute_error\", "
                                "{ absolute_error_quantile = { quantile = 1 } }, "
                                "\"pinball_loss\"]\nearly_stopping = { metric = "
                                "\"absolute_error_quantile_1\" }"));
  EXPECT_NEAR(m["pinball_loss_0.5"], m["mae"] / 2, 1e-6);
  EXPECT_LT(m["median_absolute_error"], m["absolute_error_quantile_1"]);
  EXPECT_THAT(refusal("numbers", 1, "l1", "metrics = [{ pinball_loss = { quantile = 2 } }]"),
              HasSubstr("quantile"));
  for (const char* name : {"psnr", "ssim"}) {
    EXPECT_THAT(refusal("numbers", 1, "l1", std::string("metrics = [\"") + name + "\"]"),
                HasSubstr("needs a network that ends in images [batch, channels, height, width]"));
  }
}

TEST_F(JobMetrics, OfNumbers) {
  const Metrics m = trained(job("numbers", 1, "l1",
                                "metrics = [\"rmse\", \"mae\", \"r2\", \"mse\"]\n"
                                "schedule = { plateau = { metric = \"r2\", patience = 0 } }"));
  EXPECT_NEAR(m["mae"], m["loss"], 1e-6);
  EXPECT_NEAR(m["rmse"] * m["rmse"], m["mse"], 1e-3 * m["mse"]);
  EXPECT_LT(m["r2"], 1);
}

// Queries of ten rows; the answer says how well a row fits.
TEST_F(JobMetrics, OfRankingGroups) {
  std::string rows = "a,b,qid,answer\n";
  for (int i = 0; i < 200; ++i) {
    const int a = i * 7919 % 41 - 20, b = i * 104729 % 37 - 18;
    rows += std::to_string(a) + "," + std::to_string(b) + "," + std::to_string(i / 10) + "," +
            std::to_string(a + b > 15  ? 2
                           : a + b > 0 ? 1
                                       : 0) +
            "\n";
  }
  write(path("ranks.csv"), rows);
  const std::string data =
      "{ csv = \"ranks.csv\", target = \"answer\", standardize = true, integers = [\"qid\"] }";
  const auto ranked = [&](const std::string& metrics) {
    return Job::parse("[data]\ntrain = " + data + "\nvalidation = " + data +
                          "\n[model]\nlayers = [{ linear = { units = 1 } }]\n[train]\nloss = "
                          "\"mse\"\nepochs = 20\noptimizer = { adam = { learning_rate = 0.02 } }\n"
                          "metrics = " +
                          metrics,
                      path("job.toml"));
  };
  const Metrics m = trained(ranked("[\"ndcg\", { ndcg = { k = 3 } }, \"map\", \"mrr\"]"));
  EXPECT_GT(m["ndcg"], 0.95);
  EXPECT_GT(m["ndcg_3"], 0.9);
  EXPECT_GT(m["map"], 0.9);
  EXPECT_GT(m["mrr"], 0.9);
  EXPECT_THAT(error_of([&] { trained(ranked("[{ ndcg = { group = \"query\" } }]")); }),
              HasSubstr("the data have no column \"query\""));
}

TEST_F(JobMetrics, WordsForWhichWayIsBetter) {
  FitOptions options = job("numbers", 1, "mse",
                           "metrics = [\"rmse\", \"r2\"]\n"
                           "early_stopping = { metric = \"r2\" }",
                           "[checkpoint]\nbest = \"rmse\"\n")
                           .fit_options();
  EXPECT_EQ(options.early_stopping.watch.larger_better, true);
  EXPECT_EQ(options.checkpoint.best.larger_better, false);
  options = job("numbers", 1, "mse",
                "metrics = [\"r2\"]\n"
                "early_stopping = { metric = \"r2\", goal = \"min\" }")
                .fit_options();
  EXPECT_EQ(options.early_stopping.watch.larger_better, false);

  // What a job says by name is what the metric itself says.
  Program program("p");
  const Value score = program.input("score", f32, {batch, 3}),
              id = program.input("id", i64, {batch});
  const Value label = program.input("label", f32, {batch, 3});
  for (const Metric& metric :
       {accuracy(score, id),
        top_k_accuracy(score, id, 2),
        log_loss(score, id),
        precision(score, id),
        recall(score, id, {.of_class = 2}),
        f1(score, id, {.average = ClassOptions::Average::micro}),
        binary_accuracy(score, label),
        binary_precision(score, label),
        auc(score, label),
        streaming_auc(score, label),
        streaming_auc_error(score, label),
        mean_average_precision(score, label),
        rmse(score, label),
        mae(score, label),
        r2(score, label),
        perplexity(score),
        iou(score, id, {.of_class = 2}),
        cohen_kappa(score, id, {.weights = KappaOptions::Weights::linear}),
        matthews_correlation(score, id),
        calibration_error(score, id),
        calibration_error(score, id, {.norm = CalibrationOptions::Norm::max}),
        average_precision(score, label),
        median_absolute_error(score, label),
        absolute_error_quantile(score, label, 0.9),
        pinball_loss(score, label, 0.9)}) {
    EXPECT_EQ(job::larger_better(metric.name), metric.larger_better) << metric.name;
    EXPECT_TRUE(metric.larger_better.has_value()) << metric.name;
  }
}

// Every loss learns, by its own name, what the rows say.
TEST_F(JobMetrics, LossesByName) {
  for (const char* loss :
       {"cross_entropy", "{ focal_cross_entropy = { gamma = 1 } }",
        "{ multi_class_hinge = { margin = 2, squared = true } }", "multi_class_hinge"}) {
    EXPECT_GT(trained(job("words", 2, loss, ""))["accuracy"], 0.8) << loss;
  }
  for (const char* loss : {"binary_cross_entropy", "{ focal = { gamma = 1, alpha = 0.5 } }",
                           "hinge", "{ squared_hinge = { margin = 2 } }", "dice"}) {
    EXPECT_GT(trained(job("numbers", 1, loss, "metrics = [\"auc\"]"))["auc"], 0.9) << loss;
  }
  for (const char* loss : {"mse", "l1", "huber", "{ smooth_l1 = { beta = 0.5 } }"}) {
    EXPECT_LT(trained(job("numbers", 1, loss, "metrics = [\"mse\"]"))["mse"], 1) << loss;
  }
  const Metrics counts = trained(job("numbers", 1, "poisson_nll", "metrics = [\"rmse\"]"));
  EXPECT_LT(counts["rmse"], 2);
}

TEST_F(JobMetrics, LossesWithMistakes) {
  EXPECT_THAT(refusal("numbers", 1, "hing", ""),
              HasSubstr("unknown loss \"hing\"; did you mean \"hinge\"?"));
  EXPECT_THAT(refusal("numbers", 1, "{ focal = { gama = 1 } }", ""),
              HasSubstr("did you mean \"gamma\"?"));
  EXPECT_THAT(refusal("words", 1, "{ smooth_l1 = { beta = 0 } }", ""),
              HasSubstr("beta: must be above 0"));
}

TEST_F(JobMetrics, WhatMakesNoSenseIsTold) {
  const auto classes = [&](const std::string& metrics) {
    return refusal("words", 3, "cross_entropy", "metrics = " + metrics);
  };
  EXPECT_THAT(classes("[\"acuracy\"]"),
              HasSubstr("job.toml:10: train.metrics[0]: unknown metric \"acuracy\"; did you mean "
                        "\"accuracy\"?"));
  EXPECT_THAT(classes("\"auc\""), HasSubstr("must be a list"));
  EXPECT_THAT(classes("[\"auc\"]"), HasSubstr("needs 2 classes, but the network ends in 3"));
  EXPECT_THAT(classes("[\"rmse\"]"),
              HasSubstr("metric \"rmse\" needs a loss of numbers, but this one is of classes"));
  EXPECT_THAT(classes("[{ f1 = { class = 3 } }]"), HasSubstr("there is no class 3"));
  EXPECT_THAT(classes("[{ f1 = { average = \"mikro\" } }]"), HasSubstr("did you mean \"micro\"?"));
  EXPECT_THAT(classes("[{ f1 = { average = \"micro\", class = 1 } }]"), HasSubstr("not both"));
  EXPECT_THAT(classes("[{ f1 = { clas = 1 } }]"), HasSubstr("did you mean \"class\"?"));
  EXPECT_THAT(classes("[\"mean_average_precision\"]"), HasSubstr("[batch, items]"));
  EXPECT_THAT(refusal("numbers", 1, "mse", "metrics = [\"auc\"]"),
              HasSubstr("needs a loss of zeros and ones or 2 classes"));
  EXPECT_THAT(refusal("numbers", 1, "binary_cross_entropy", "metrics = [\"top_k_accuracy\"]"),
              HasSubstr("needs a loss of classes"));
  EXPECT_THAT(refusal("numbers", 1, "binary_cross_entropy",
                      "metrics = [{ streaming_auc = { low = 1, high = 0 } }]"),
              HasSubstr("low must be below high"));
}

TEST_F(JobMetrics, AWatchedMetricMustBeMeasured) {
  Job watching = job("numbers", 1, "binary_cross_entropy", "early_stopping = { metric = \"auc\" }");
  EXPECT_THAT(error_of([&] { trained(std::move(watching)); }),
              HasSubstr("early_stopping watches \"auc\", which is not measured"));
}

TEST_F(JobMetrics, APlateauOfAnEvaluationNeedsValidationData) {
  const std::string text =
      "[data]\ntrain = { csv = \"numbers.csv\", target = \"answer\" }\n[model]\n"
      "layers = [{ linear = { units = 1 } }]\n[train]\nloss = \"mse\"\nmetrics = [\"r2\"]\n"
      "schedule = { plateau = { metric = \"r2\" } }\n";
  Job job = Job::parse(text, path("job.toml"));
  FitOptions options = job.fit_options();
  options.progress = false;
  EXPECT_THAT(error_of([&] { job.trainer().fit(job.train_data(), options); }),
              HasSubstr("which only an evaluation measures"));
}

}  // namespace
}  // namespace trireme::testing
