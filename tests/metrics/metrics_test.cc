// Metrics, joined over batches of odd sizes, against scikit-learn on the same predictions.

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <sstream>

#include "../command.h"
#include "data/testing/needs_data.h"
#include "session/metrics/sum.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;
using Numbers = std::map<std::string, double>;

const std::string kPython = "/usr/bin/python3";

// Predictions and what they are held against: an input each, and metrics of the two.
struct Question {
  Program program{"metrics"};
  Value prediction, truth;
  std::vector<Metric> metrics;
  Tensor predictions, truths;

  Question(Tensor predictions_in, Tensor truths_in)
      : predictions(std::move(predictions_in)), truths(std::move(truths_in)) {
    const auto shape_of = [](const Tensor& tensor) {
      Shape shape(tensor.shape().begin(), tensor.shape().end());
      shape[0] = batch;
      return shape;
    };
    prediction = program.input("prediction", predictions.dtype(), shape_of(predictions));
    truth = program.input("truth", truths.dtype(), shape_of(truths));
  }

  Metrics measured(std::int64_t batch_size) const {
    Session session(program);
    MetricSum sum(metrics);
    std::vector<Value> fetches;
    for (const Metric& metric : metrics) fetches.push_back(metric.value);
    const std::int64_t all = predictions.dim(0);
    for (std::int64_t i = 0; i < all; i += batch_size) {
      const std::int64_t end = std::min(i + batch_size, all);
      const Feeds feeds{{"prediction", predictions.rows(i, end)}, {"truth", truths.rows(i, end)}};
      sum.add(session.run(feeds, fetches), end - i);
    }
    return sum.result();
  }
};

class AgainstSklearn : public InFolder {
 protected:
  void SetUp() override {
    static const bool has = run(kPython + " -c 'import sklearn.metrics'").code == 0;
    ASSERT_TRUE(has) << kPython << " has no package sklearn: run tools/install-deps.sh --test, "
                     << "which installs python3-sklearn";
  }

  Numbers oracle(const std::string& kind, const Tensor& predictions, const Tensor& truths) {
    const Tensor a = predictions.cast(f64), b = truths.cast(f64);
    std::ostringstream text;
    text.precision(17);
    const auto put = [&](const Tensor& x, std::int64_t row) {
      const std::int64_t width = x.elements() / x.dim(0);
      for (std::int64_t j = 0; j < width; ++j) text << x.data<double>()[row * width + j] << ' ';
    };
    for (std::int64_t i = 0; i < a.dim(0); ++i) {
      put(a, i);
      put(b, i);
      text << '\n';
    }
    write(path("predictions.txt"), text.str());
    const Outcome outcome = run_here(kPython + " " TRIREME_ORACLE " " + kind + " predictions.txt");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    Numbers numbers;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t tab = line.find('\t');
      if (tab != std::string::npos) numbers[line.substr(0, tab)] = std::stod(line.substr(tab + 1));
    }
    return numbers;
  }

  // Every number that both know, at several sizes of a batch; they must know `count` in common.
  void agree(const std::string& kind, const Question& question, std::size_t count,
             double tolerance) {
    const Numbers expected = oracle(kind, question.predictions, question.truths);
    for (const std::int64_t batch_size : {1000000, 64, 7}) {
      const Metrics measured = question.measured(batch_size);
      std::size_t common = 0;
      for (const auto& [name, value] : measured.numbers()) {
        const auto found = expected.find(name);
        if (found == expected.end()) continue;
        ++common;
        EXPECT_NEAR(value, found->second, tolerance) << name << " in batches of " << batch_size;
      }
      EXPECT_EQ(common, count);
    }
  }
};

// Scores of which many are equal, and labels that follow them more or less.
Question binary_question(std::int64_t n, unsigned seed, double step) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 1.5);
  Tensor score(f32, {n}), label(f32, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = noise(random);
    score.data<float>()[i] = static_cast<float>(step > 0 ? std::round(x / step) * step : x);
    label.data<float>()[i] = x + noise(random) > 1 ? 1.0f : 0.0f;
  }
  return {score, label};
}

void ask_binary(Question& q) {
  q.metrics = {auc(q.prediction, q.truth),
               binary_accuracy(q.prediction, q.truth, {.threshold = 0.25}),
               binary_precision(q.prediction, q.truth, {.threshold = 0.25}),
               binary_recall(q.prediction, q.truth, {.threshold = 0.25}),
               binary_f1(q.prediction, q.truth, {.threshold = 0.25}),
               binary_log_loss(q.prediction, q.truth),
               streaming_auc(q.prediction, q.truth),
               streaming_auc_error(q.prediction, q.truth)};
}

TEST_F(AgainstSklearn, TwoClassesWithAndWithoutTies) {
  for (const double step : {0.0, 0.25, 4.0}) {
    Question q = binary_question(997, 3, step);
    ask_binary(q);
    agree("binary", q, 6, 1e-6);
  }
}

TEST_F(AgainstSklearn, NothingPredictedPositive) {
  Question q(Tensor::from<float>({4}, {-1, -2, -3, 0.25f}), Tensor::from<float>({4}, {0, 1, 0, 1}));
  ask_binary(q);
  agree("binary", q, 6, 1e-6);
}

TEST_F(AgainstSklearn, ClassesOneOfWhichIsNeverPredictedAndOneNeverOccurs) {
  constexpr std::int64_t n = 501, kClasses = 6;
  std::mt19937 random(5);
  std::normal_distribution<float> noise(0, 1);
  Tensor logits(f32, {n, kClasses}), label(i64, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t truth = i % 11 < 5 ? 0 : i % 5;  // never 5
    label.data<std::int64_t>()[i] = truth;
    for (std::int64_t j = 0; j < kClasses; ++j) {
      logits.data<float>()[i * kClasses + j] =
          noise(random) + (j == truth ? 1.0f : 0.0f) - (j == 3 || j == 5 ? 20.0f : 0.0f);
    }
  }
  Question q(logits, label);
  using Average = ClassOptions::Average;
  q.metrics = {accuracy(q.prediction, q.truth), log_loss(q.prediction, q.truth),
               top_k_accuracy(q.prediction, q.truth, 2), confusion_matrix(q.prediction, q.truth)};
  for (const auto& metric : {precision, recall, f1}) {
    const SourceLocation here = SourceLocation::current();
    for (const Average average : {Average::macro, Average::micro, Average::weighted}) {
      q.metrics.push_back(metric(q.prediction, q.truth, {.average = average}, here));
    }
    for (std::int64_t i = 0; i < kClasses; ++i) {
      q.metrics.push_back(metric(q.prediction, q.truth, {.of_class = i}, here));
    }
  }
  agree("classes", q, 3 + 3 * (3 + kClasses), 1e-6);

  const Numbers expected = oracle("classes", logits, label);
  const ClassReport report = class_report(q.measured(64).tensor("confusion"));
  for (std::size_t i = 0; i < kClasses; ++i) {
    EXPECT_DOUBLE_EQ(report.precision[i], expected.at("precision_" + std::to_string(i)));
    EXPECT_DOUBLE_EQ(report.recall[i], expected.at("recall_" + std::to_string(i)));
    EXPECT_DOUBLE_EQ(report.f1[i], expected.at("f1_" + std::to_string(i)));
  }
  EXPECT_EQ(report.examples[5], 0);
}

TEST_F(AgainstSklearn, Rankings) {
  constexpr std::int64_t n = 60, kItems = 17;
  std::mt19937 random(9);
  Tensor scores(f32, {n, kItems}), relevant(f32, {n, kItems});
  for (std::int64_t i = 0; i < n * kItems; ++i) {
    scores.data<float>()[i] = static_cast<float>(random() % 8) / 4;                  // many ties
    relevant.data<float>()[i] = i >= kItems * 3 && random() % 5 == 0 ? 1.0f : 0.0f;  // 3 rows: none
  }
  Question q(scores, relevant);
  q.metrics = {mean_average_precision(q.prediction, q.truth)};
  agree("rankings", q, 1, 1e-6);
  const Numbers expected = oracle("rankings", scores, relevant);
  EXPECT_NEAR(expected.at("mean of average_precision_score"), expected.at("mean_average_precision"),
              1e-12);
}

// Groups of several sizes, one among them, equal scores, and groups without a relevant example.
TEST_F(AgainstSklearn, RankingGroupsWithTies) {
  constexpr std::int64_t n = 700;
  std::mt19937 random(11);
  Tensor rows(f64, {n, 2}), relevance(f64, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    const auto group = static_cast<double>(random() % 200 * (random() % 2));
    rows.data<double>()[2 * i] = group;
    rows.data<double>()[2 * i + 1] = static_cast<double>(random() % 9) / 2 - 2;
    const bool none = static_cast<std::int64_t>(group) % 5 == 3;
    relevance.data<double>()[i] = none ? 0 : static_cast<double>(random() % 4);
  }
  Question q(rows, relevance);
  const Value group =
      cast(slice(q.prediction, {.starts = {0, 0}, .limits = {-1, 1}}), {.dtype = i64});
  const Value score = reshape(slice(q.prediction, {.starts = {0, 1}, .limits = {-1, -1}}),
                              {.shape = {q.prediction.dim(0)}});
  q.metrics = {ndcg(score, q.truth, group), ndcg(score, q.truth, group, {.k = 3}),
               grouped_average_precision(score, q.truth, group)};
  agree("groups", q, 3, 1e-9);
}

TEST(Metrics, RankingGroups) {
  const std::vector<double> scores = {3, 2, 1, 5, 5, 5, 1, 7};
  const std::vector<double> relevant = {0, 1, 1, 1, 0, 2, 0, 0};
  Program program("groups");
  const Value score = program.input("score", f64, {batch});
  const Value relevance = program.input("relevance", f64, {batch});
  const Value group = program.input("group", i64, {batch});
  const auto measured = [&](const Metric& metric, std::vector<double> s, std::vector<double> r) {
    const auto count = static_cast<std::int64_t>(s.size());
    std::vector<std::int64_t> groups = {1, 1, 1, 2, 2, 2, 3, 3};
    groups.resize(s.size());
    Session session(program);
    const Tensor rows = session.run({{"score", Tensor::from<double>({count}, s)},
                                     {"relevance", Tensor::from<double>({count}, r)},
                                     {"group", Tensor::from<std::int64_t>({count}, groups)}},
                                    {metric.value})[0];
    return metric.finish(rows);
  };
  const Metric mrr = reciprocal_rank(score, relevance, group);
  EXPECT_EQ(mrr.name, "mrr");
  EXPECT_DOUBLE_EQ(measured(mrr, scores, relevant), (1.0 / 2 + 1.0 / 2) / 2);
  EXPECT_DOUBLE_EQ(measured(reciprocal_rank(score, relevance, group, {.k = 1}), scores, relevant),
                   0);
  const Metric ndcg_1 = ndcg(score, relevance, group, {.k = 1});
  EXPECT_EQ(ndcg_1.name, "ndcg_1");
  EXPECT_DOUBLE_EQ(measured(ndcg_1, scores, relevant), (0 + (1.0 + 0 + 3) / 3 / 3) / 2);
  EXPECT_TRUE(std::isnan(measured(mrr, {1, 2}, {0, 0}))) << "nothing is relevant";
  const Metric all_places = ndcg(score, relevance, group);
  EXPECT_DOUBLE_EQ(measured(all_places, {1, 2}, {1e-20, 0}), 1 / std::log2(3.0));
  EXPECT_DOUBLE_EQ(measured(all_places, {1, 2}, {1100, 0}), 1 / std::log2(3.0))
      << "2^1100 overflows";
  EXPECT_THAT(error_of(ErrorKind::data, [&] { measured(mrr, {std::nan("")}, {1}); }),
              HasSubstr("mrr: a score is NaN"));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { measured(ndcg_1, {1}, {-1}); }),
              HasSubstr("relevance -1"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { ndcg(score, relevance, score); }),
              HasSubstr("group must be integers"));
}

TEST_F(AgainstSklearn, NumbersNearAndFarFromZero) {
  for (const float offset : {0.0f, 2000.0f, 1e6f}) {
    constexpr std::int64_t n = 403;
    std::mt19937 random(4);
    std::normal_distribution<float> noise(0, 1);
    Tensor predicted(f32, {n, 1}), target(f32, {n, 1});
    for (std::int64_t i = 0; i < n; ++i) {
      target.data<float>()[i] = offset + 5 * noise(random);
      predicted.data<float>()[i] = target.data<float>()[i] + 2 * noise(random);
    }
    Question q(predicted, target);
    q.metrics = {rmse(q.prediction, q.truth), mae(q.prediction, q.truth),
                 r2(q.prediction, q.truth)};
    agree("numbers", q, 3, 1e-6);
  }
}

TEST(Metrics, StreamingAucKeepsItsWord) {
  for (const std::int64_t bins : {8, 64, 4096}) {
    for (const double step : {0.0, 0.5}) {
      Question q = binary_question(2003, 8, step);
      const StreamingAucOptions options{.bins = bins, .low = -4, .high = 4};
      q.metrics = {auc(q.prediction, q.truth), streaming_auc(q.prediction, q.truth, options),
                   streaming_auc_error(q.prediction, q.truth, options)};
      const Metrics measured = q.measured(100);
      const double error = measured["streaming_auc_error"];
      EXPECT_LE(std::abs(measured["auc"] - measured["streaming_auc"]), error + 1e-12) << bins;
      if (bins == 8) {
        EXPECT_GT(error, 0);
      }
      if (bins == 4096 && step == 0) {
        EXPECT_LT(error, 2e-3);
      }
    }
  }
}

TEST(Metrics, OneClassAloneAndNothingAtAllHaveNoNumber) {
  const Tensor score = Tensor::from<float>({3}, {1, 2, 3});
  for (const float only : {0.0f, 1.0f}) {
    Question q(score, Tensor::from<float>({3}, {only, only, only}));
    ask_binary(q);
    const Metrics measured = q.measured(2);
    for (const char* name : {"auc", "streaming_auc", "streaming_auc_error"}) {
      EXPECT_TRUE(std::isnan(measured[name])) << name;
    }
    EXPECT_EQ(measured["recall"], only);
  }
  Question none(Tensor(f32, {0}), Tensor(f32, {0}));
  ask_binary(none);
  const Metrics measured = none.measured(2);
  EXPECT_EQ(measured.examples(), 0);
  for (const auto& [name, value] : measured.numbers()) EXPECT_TRUE(std::isnan(value)) << name;
}

// Metrics that leave out a label are those of the other examples, whatever the batches.
TEST(Metrics, LeaveOutIgnoredLabels) {
  constexpr std::int64_t kCount = 41, kClasses = 4;
  for (const std::int64_t ignored : {std::int64_t{-100}, std::int64_t{2}}) {
    std::mt19937 random(7);
    std::vector<float> logits, kept_logits;
    std::vector<std::int64_t> labels, kept_labels;
    for (std::int64_t i = 0; i < kCount; ++i) {
      const bool leave_out = i < 5 || random() % 3 == 0;  // all of a first small batch
      auto label = static_cast<std::int64_t>(random() % kClasses);
      if (label == ignored) label = 0;
      labels.push_back(leave_out ? ignored : label);
      if (!leave_out) kept_labels.push_back(label);
      for (std::int64_t j = 0; j < kClasses; ++j) {
        const float number = static_cast<float>(random() % 1000) / 100;
        logits.push_back(leave_out && j == 0 ? std::nanf("") : number);
        if (!leave_out) kept_logits.push_back(number);
      }
    }
    const auto ask = [&](const std::vector<float>& x, const std::vector<std::int64_t>& y,
                         const std::optional<std::int64_t>& ignore, std::int64_t batch_size) {
      const auto n = static_cast<std::int64_t>(y.size());
      Question q(Tensor::from<float>({n, kClasses}, x), Tensor::from<std::int64_t>({n}, y));
      const Value p = q.prediction, t = q.truth;
      const LabelOptions labels_of{.ignore_index = ignore};
      q.metrics = {accuracy(p, t, labels_of),
                   top_k_accuracy(p, t, 2, labels_of),
                   log_loss(p, t, labels_of),
                   precision(p, t, {.ignore_index = ignore}),
                   recall(p, t, {.of_class = 1, .ignore_index = ignore}),
                   f1(p, t, {.average = ClassOptions::Average::weighted, .ignore_index = ignore}),
                   confusion_matrix(p, t, labels_of)};
      return q.measured(batch_size);
    };
    const Metrics expected = ask(kept_logits, kept_labels, std::nullopt, 1000);
    for (const std::int64_t batch_size : {1, 5, 41}) {
      const Metrics got = ask(logits, labels, ignored, batch_size);
      for (const auto& [name, value] : expected.numbers()) {
        EXPECT_NEAR(got[name], value, 1e-6) << name << " in batches of " << batch_size;
      }
      EXPECT_TRUE(equal(got.tensor("confusion"), expected.tensor("confusion")));
    }
    const std::vector<std::int64_t> none(static_cast<std::size_t>(kCount), ignored);
    const Metrics nothing = ask(logits, none, ignored, 10);
    for (const char* name : {"accuracy", "top_2_accuracy", "log_loss"}) {
      EXPECT_TRUE(std::isnan(nothing[name])) << name;
    }
  }
}

// Equal logits are in the order of the classes, as for accuracy.
TEST(Metrics, TopKOfTiesAndNan) {
  const float nan = std::nanf("");
  const Tensor logits = Tensor::from<float>({6, 3}, {1, 1, 1,        //
                                                     1, 1, 1,        //
                                                     0, 2, 2,        //
                                                     nan, nan, nan,  //
                                                     nan, 5, 1,      //
                                                     3, nan, 1});
  const auto top = [&](int k, const std::vector<std::int64_t>& labels) {
    Question q(logits, Tensor::from<std::int64_t>({6}, labels));
    q.metrics = {top_k_accuracy(q.prediction, q.truth, k)};
    return q.measured(6)["top_" + std::to_string(k) + "_accuracy"];
  };
  EXPECT_NEAR(top(1, {0, 1, 1, 0, 1, 0}), 2.0 / 6, 1e-6) << "the first and the third";
  EXPECT_NEAR(top(2, {0, 1, 2, 0, 1, 0}), 5.0 / 6, 1e-6) << "all but that of NaN";
  EXPECT_NEAR(top(3, {0, 2, 0, 2, 2, 1}), 4.0 / 6, 1e-6)
      << "a label whose logit is NaN never counts";
}

// Targets whose squares differ in the last digits of f64 only.
TEST(Metrics, R2OfTargetsFarFromZero) {
  const auto r2_of = [](std::int64_t batch, double scale) {
    Tensor target(f64, {5}), predicted(f64, {5});
    for (std::int64_t i = 0; i < 4; ++i) {
      target.data<double>()[i] = 1.7e9 + scale * double(i);
      predicted.data<double>()[i] = target.data<double>()[i] + (i == 2 ? scale : 0);
    }
    target.data<double>()[4] = predicted.data<double>()[4] = 1.7e9 + 1.5 * scale;  // the mean
    Question q(predicted, target);
    q.metrics = {r2(q.prediction, q.truth)};
    return q.measured(batch)["r2"];
  };
  for (const std::int64_t batch : {1, 2, 3, 5}) {
    EXPECT_NEAR(r2_of(batch, 100), 0.8, 1e-12) << batch;
    EXPECT_NEAR(r2_of(batch, 0.25), 0.8, 1e-6) << batch;
  }
}

TEST(Metrics, NumbersWithoutSpread) {
  const auto r2_of = [](const std::vector<float>& predicted, const std::vector<float>& target) {
    const auto n = static_cast<std::int64_t>(target.size());
    Question q(Tensor::from<float>({n}, predicted), Tensor::from<float>({n}, target));
    q.metrics = {r2(q.prediction, q.truth)};
    return q.measured(2)["r2"];
  };
  EXPECT_EQ(r2_of({0.1f, 0.1f, 0.1f}, {0.1f, 0.1f, 0.1f}), 1);
  EXPECT_EQ(r2_of({0.1f, 0.1f, 0.2f}, {0.1f, 0.1f, 0.1f}), 0);
  EXPECT_TRUE(std::isnan(r2_of({1}, {1})));
  EXPECT_TRUE(std::isnan(r2_of({std::nanf(""), 1}, {1, 1}))) << "a prediction is NaN";
  Question huge(Tensor::from<double>({3}, {0, 0, 0}), Tensor::from<double>({3}, {1e200, 2e200, 0}));
  huge.metrics = {r2(huge.prediction, huge.truth)};
  EXPECT_TRUE(std::isnan(huge.measured(3)["r2"])) << "the squares overflow";
  Question q(Tensor(f32, {2, 3}), Tensor(f32, {2, 3}));
  q.metrics = {mean_average_precision(q.prediction, q.truth)};
  EXPECT_TRUE(std::isnan(q.measured(2)["mean_average_precision"])) << "nothing is relevant";
}

TEST(Metrics, WrongLabelsAndScoresAreTold) {
  const Tensor good = Tensor::from<float>({3}, {0, 1, 1});
  const Tensor labels = Tensor::from<float>({3}, {0, 1, 2});
  const Tensor scores = Tensor::from<float>({3}, {0, std::nanf(""), 2});
  using Make = std::function<Metric(Value, Value)>;
  const Make exact = [](Value s, Value l) { return auc(s, l); };
  const Make streaming = [](Value s, Value l) { return streaming_auc(s, l); };
  const Make counts = [](Value s, Value l) { return binary_f1(s, l); };
  for (const Make& make : {exact, streaming, counts}) {
    Question q(good, labels), nan(scores, good);
    q.metrics = {make(q.prediction, q.truth)};
    nan.metrics = {make(nan.prediction, nan.truth)};
    fails(ErrorKind::data, "neither 0 nor 1", [&] { q.measured(2); });
    fails(ErrorKind::data, "NaN", [&] { nan.measured(2); });
  }
}

TEST(Metrics, WrongRankingsAreTold) {
  const Tensor good = Tensor::from<float>({1, 3}, {0, 1, 1});
  Question labels(good, Tensor::from<float>({1, 3}, {0, 1, 2}));
  Question nan(Tensor::from<float>({1, 3}, {0, std::nanf(""), 2}), good);
  for (Question* q : {&labels, &nan}) {
    q->metrics = {mean_average_precision(q->prediction, q->truth)};
  }
  fails(ErrorKind::data, "1 labels are neither 0 nor 1", [&] { labels.measured(1); });
  fails(ErrorKind::data, "1 scores are NaN", [&] { nan.measured(1); });
}

TEST(Metrics, WhatDoesNotFitIsTold) {
  Program program("p");
  const Value score = program.input("score", f32, {batch, 1});
  const Value label = program.input("label", f32, {batch});
  const Value logits = program.input("logits", f32, {batch, 4});
  const Value id = program.input("id", i64, {batch});
  fails(ErrorKind::usage, "reshape one of them", [&] { auc(score, label); });
  fails(ErrorKind::usage, "label of the same shape", [&] { binary_recall(id, label); });
  fails(ErrorKind::usage, "predicted and target must be floats of one shape",
        [&] { rmse(score, label); });
  fails(ErrorKind::usage, "label must be i64", [&] { precision(logits, label); });
  fails(ErrorKind::usage, "there is no class 4", [&] { f1(logits, id, {.of_class = 4}); });
  fails(ErrorKind::usage, "bins must be in", [&] { streaming_auc(label, label, {.bins = 0}); });
  fails(ErrorKind::usage, "low must be below high",
        [&] { streaming_auc(label, label, {.low = 1, .high = 1}); });
  fails(ErrorKind::usage, "must be [batch, items]", [&] { mean_average_precision(label, label); });
}

TEST(Metrics, APlateauFollowsThemTheRightWay) {
  const auto train = [](const Plateau& plateau, bool validate) {
    Program program("p");
    const Value x = program.input("x", f32, {batch, 1}), y = program.input("y", f32, {batch, 1});
    const Value score = nn::linear(x, {.units = 1});
    Trainer trainer(program, {.loss = mean(nn::binary_cross_entropy_with_logits(score, y)),
                              .optimizer = Sgd{.learning_rate = Schedule(0.1).on_plateau(plateau)},
                              .metrics = {auc(score, y)}});
    const data::Batches data = data::from_tensors({{"x", Tensor::from<float>({2, 1}, {1, 2})},
                                                   {"y", Tensor::from<float>({2, 1}, {0, 1})}})
                                   .batch(2);
    trainer.fit(data, {.epochs = 2, .progress = false, .validation = validate ? &data : nullptr});
  };
  EXPECT_NO_THROW(train({.metric = "auc", .higher_is_better = true}, true));
  fails(ErrorKind::usage, "set higher_is_better = true", [&] { train({.metric = "auc"}, true); });
  fails(ErrorKind::usage, "set higher_is_better = false",
        [&] { train({.higher_is_better = true}, true); });
  fails(ErrorKind::usage, "which only an evaluation measures",
        [&] { train({.metric = "auc", .higher_is_better = true}, false); });
}

// A logistic regression, measured by the Trainer in batches and by scikit-learn on its predictions.
class Regression : public AgainstSklearn {
 protected:
  void check(const data::Dataset& train, const data::Dataset& test, std::int64_t width,
             double least_auc) {
    Program program("regression");
    const Value features = program.input("features", f32, {batch, width});
    const Value target = program.input("target", f32, {batch, 1});
    const Value score = nn::linear(features, {.units = 1});
    Trainer trainer(
        program,
        {.loss = mean(nn::binary_cross_entropy_with_logits(score, target)),
         .optimizer = Adam{.learning_rate = 0.02},
         .metrics = {auc(score, target), binary_precision(score, target, {.threshold = 0.25}),
                     binary_recall(score, target, {.threshold = 0.25}),
                     binary_f1(score, target, {.threshold = 0.25}), rmse(score, target),
                     binary_log_loss(score, target), streaming_auc(score, target)}});
    std::vector<double> seen;
    const data::Batches validation = test.batch(500);
    FitOptions fit{.epochs = 3, .progress = false, .validation = &validation};
    fit.early_stopping = {.watch = {"auc"}, .patience = 3};  // auc knows that larger is better
    fit.after_evaluation = [&](std::int64_t, const Metrics& m) { seen.push_back(m["auc"]); };
    const Metrics training = trainer.fit(train.shuffle(1).batch(128), fit);
    EXPECT_FALSE(training.has("auc")) << "training measures means only";
    EXPECT_TRUE(training.has("rmse"));
    EXPECT_EQ(seen.size(), 3u);
    const Metrics measured = trainer.evaluate(validation);
    EXPECT_EQ(measured["auc"], seen.back());
    EXPECT_GT(measured["auc"], least_auc);

    const Tensor scores = trainer.predict(validation, score);
    const Tensor targets = test.all().at("target");
    for (const auto& [name, value] : oracle("binary", scores, targets)) {
      if (!measured.has(name)) continue;
      EXPECT_NEAR(measured[name], value, 1e-6) << name;
    }
    EXPECT_NEAR(measured["rmse"], oracle("numbers", scores, targets).at("rmse"), 1e-6);
    EXPECT_NEAR(measured["streaming_auc"], measured["auc"], 1e-3);
  }
};

TEST_F(Regression, OfPointsWrittenHere) {
  std::mt19937 random(2);
  std::normal_distribution<float> noise(0, 1);
  Tensor features(f32, {1500, 3}), target(f32, {1500, 1});
  for (std::int64_t i = 0; i < 1500; ++i) {
    float sum = 0;
    for (int j = 0; j < 3; ++j) sum += features.data<float>()[i * 3 + j] = noise(random);
    target.data<float>()[i] = sum + noise(random) > 0 ? 1.0f : 0.0f;
  }
  const data::Dataset all = data::from_tensors({{"features", features}, {"target", target}});
  check(all.take(1000),
        data::from_tensors(
            {{"features", features.rows(1000, 1500)}, {"target", target.rows(1000, 1500)}}),
        3, 0.8);
}

TEST_F(Regression, OfAdultIncome) {
  NEEDS_DATA("adult/train");
  NEEDS_DATA("adult/test");
  check(data::adult("train"), data::adult("test"), 6, 0.8);
}

}  // namespace
}  // namespace trireme::testing
