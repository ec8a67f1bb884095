// The example jobs that one process and many processes train from the same file.

#include "../e2e/end_to_end.h"

namespace trireme::testing {
namespace {

class Jobs : public EndToEnd {
 protected:
  // The text after the label, for the job in one process and with two trainers.
  std::pair<double, double> both(const std::string& job, const std::string& set,
                                 const std::string& processes, const std::string& label) {
    const std::string launched =
        succeeds(kTrireme + " launch " + processes + " " + kJobs + "/" + job + ".toml " + set);
    return {number_behind(train(job, set), label), number_behind(launched, label)};
  }
};

constexpr const char* kServers = "--trainers 2 --servers 2";

TEST_F(Jobs, ClicksByWideAndDeep) {
  const auto [alone, launched] =
      both("clicks_wide_and_deep", "--set data.limit=60000 --set data.test_limit=4000", kServers,
           "test auc: ");
  EXPECT_GT(alone, 0.7);
  EXPECT_NEAR(launched, alone, 0.03);
}

TEST_F(Jobs, ClicksByDeepfm) {
  const auto [alone, launched] = both(
      "clicks_deepfm", "--set data.limit=60000 --set data.test_limit=4000", kServers, "test auc: ");
  EXPECT_GT(alone, 0.7);
  EXPECT_NEAR(launched, alone, 0.03);
}

TEST_F(Jobs, IncomesByWideAndDeep) {
  NEEDS_DATA("adult/train");
  const auto [alone, launched] =
      both("adult_wide_and_deep", "--set train.epochs=2", kServers, "test auc: ");
  EXPECT_GT(alone, 0.88);
  EXPECT_NEAR(launched, alone, 0.01);
}

TEST_F(Jobs, AppsByDeepfm) {
  NEEDS_DATA("frappe/train");
  const auto [alone, launched] =
      both("frappe_deepfm", "--set train.epochs=2", kServers, "test auc: ");
  EXPECT_GT(alone, 0.9);
  EXPECT_NEAR(launched, alone, 0.03);
}

TEST_F(Jobs, DigitsByAllReduce) {
  NEEDS_DATA("mnist/train");
  const auto [alone, launched] =
      both("mnist_all_reduce", "--set train.epochs=1 --set data.limit=20000", "--trainers 2",
           "test accuracy: ");
  EXPECT_GT(alone, 0.9);
  EXPECT_GT(launched, 0.88);  // half as many steps
}

}  // namespace
}  // namespace trireme::testing
