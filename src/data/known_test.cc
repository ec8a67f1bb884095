// The real data sets, where this machine has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/testing/error.h"
#include "data/testing/files.h"
#include "data/testing/needs_data.h"
#include "trireme/data.h"

namespace trireme::data {
namespace {

class Known : public testing::Test {
 protected:
  // Tests run in the build directory; the data may lie beside the source.
  Known() {
    const char* source = std::getenv("TRIREME_SOURCE_DIR");
    if (source != nullptr) std::filesystem::current_path(source);
  }
};

void expect_ten_classes(const Dataset& data, std::int64_t size, bool balanced) {
  EXPECT_EQ(data.size(), size);
  EXPECT_EQ(data.column("image").shape, (std::vector<std::int64_t>{1, 28, 28}));
  EXPECT_EQ(data.class_names().size(), 10u);
  std::vector<std::int64_t> counts(10);
  for (const Batch& batch : data.batch(1000).epoch(0)) {
    for (const std::int64_t label : batch.at("label").to_vector<std::int64_t>()) {
      ++counts.at(static_cast<std::size_t>(label));
    }
  }
  for (const std::int64_t count : counts) {
    if (balanced) EXPECT_EQ(count, size / 10);
    else EXPECT_GT(count, size / 15);
  }
}

// The published mean of all training pixels.
double mean_pixel(const Dataset& data) {
  double sum = 0;
  double count = 0;
  for (const Batch& batch : data.batch(2000).epoch(0)) {
    const Tensor& image = batch.at("image");
    for (std::int64_t i = 0; i < image.elements(); ++i) sum += image.data<float>()[i];
    count += static_cast<double>(image.elements());
  }
  return sum / count;
}

TEST_F(Known, FashionMnist) {
  NEEDS_DATA("fashion_mnist/train");
  NEEDS_DATA("fashion_mnist/test");
  const Dataset train = open("fashion_mnist/train"), test = open("fashion_mnist/test");
  expect_ten_classes(train, 60000, true);
  expect_ten_classes(test, 10000, true);
  EXPECT_NEAR(mean_pixel(train), 0.2860, 5e-5);
  EXPECT_EQ(test.class_names()[9], "Ankle boot");
  EXPECT_EQ(test.rows(0, 1).at("label").to_vector<std::int64_t>()[0], 9);
}

TEST_F(Known, Mnist) {
  NEEDS_DATA("mnist/train");
  NEEDS_DATA("mnist/test");
  const Dataset train = open("mnist/train"), test = open("mnist/test");
  expect_ten_classes(train, 60000, false);
  expect_ten_classes(test, 10000, false);
  EXPECT_NEAR(mean_pixel(train), 0.1307, 5e-5);
}

TEST_F(Known, Cifar10) {
  NEEDS_DATA("cifar10/train");
  NEEDS_DATA("cifar10/test");
  const Dataset train = open("cifar10/train"), test = open("cifar10/test");
  EXPECT_EQ(train.size(), 50000);
  EXPECT_EQ(test.size(), 10000);
  EXPECT_EQ(test.column("image").shape, (std::vector<std::int64_t>{3, 32, 32}));
  EXPECT_EQ(test.class_names()[6], "frog");
  std::vector<std::int64_t> counts(10);
  double sum[3] = {};
  for (const Batch& batch : test.batch(1000).epoch(0)) {
    for (const std::int64_t label : batch.at("label").to_vector<std::int64_t>()) {
      ++counts.at(static_cast<std::size_t>(label));
    }
    const float* image = batch.at("image").data<float>();
    for (std::int64_t i = 0; i < batch.at("image").elements(); ++i) sum[i / 1024 % 3] += image[i];
  }
  for (const std::int64_t count : counts) EXPECT_EQ(count, 1000);
  // The published means of the channels, which a second JPEG compression hardly moves.
  const double means[] = {0.4942, 0.4851, 0.4504};
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(sum[c] / (10000 * 1024.0), means[c], 0.002);
}

// Features of the training part have mean 0 and deviation 1.
void expect_standardized(const Dataset& data, std::int64_t numbers) {
  const Batch all = data.all();
  const Tensor& x = all.at("features");
  for (std::int64_t c = 0; c < numbers; ++c) {
    double sum = 0;
    double squares = 0;
    for (std::int64_t i = 0; i < x.dim(0); ++i) {
      const double value = x.data<float>()[i * x.dim(1) + c];
      sum += value;
      squares += value * value;
    }
    EXPECT_NEAR(sum / static_cast<double>(x.dim(0)), 0, 1e-5);
    // Missing values, filled with the mean, lower the deviation of one column of California a bit.
    EXPECT_NEAR(squares / static_cast<double>(x.dim(0)), 1, 0.02);
  }
}

TEST_F(Known, CaliforniaHousing) {
  NEEDS_DATA("california_housing/train");
  NEEDS_DATA("california_housing/test");
  const Dataset train = open("california_housing/train"), test = open("california_housing/test");
  EXPECT_EQ(train.size(), 16512);
  EXPECT_EQ(test.size(), 4128);
  EXPECT_EQ(train.column("features").shape, std::vector<std::int64_t>{13});
  EXPECT_EQ(train.column("target").shape, std::vector<std::int64_t>{1});
  expect_standardized(train, 8);
  double sum = 0;
  for (const Dataset& part : {train, test}) {
    const Batch all = part.all();
    for (std::int64_t i = 0; i < part.size(); ++i) {
      sum += all.at("target").data<float>()[i];
      double flags = 0;
      for (int c = 8; c < 13; ++c) flags += all.at("features").data<float>()[i * 13 + c];
      EXPECT_EQ(flags, 1);
    }
  }
  EXPECT_NEAR(sum / 20640, 2.068558, 1e-5);  // the published mean price
}

TEST_F(Known, BostonHousing) {
  NEEDS_DATA("boston_housing/train");
  const Dataset train = open("boston_housing/train");
  EXPECT_EQ(train.size(), 404);
  EXPECT_EQ(train.column("features").shape, std::vector<std::int64_t>{13});
  expect_standardized(train, 13);
}

TEST_F(Known, Adult) {
  NEEDS_DATA("adult/train");
  NEEDS_DATA("adult/test");
  const Dataset train = open("adult/train"), test = open("adult/test");
  EXPECT_EQ(train.size(), 32561);  // the published numbers
  EXPECT_EQ(test.size(), 16281);
  EXPECT_EQ(train.column("features").shape, std::vector<std::int64_t>{6});
  expect_standardized(train, 6);
  const auto share = [](const Dataset& data) {
    double sum = 0;
    for (const float value : data.all().at("target").to_vector<float>()) sum += value;
    return sum / static_cast<double>(data.size());
  };
  EXPECT_NEAR(share(train), 7841 / 32561.0, 1e-9);
  EXPECT_NEAR(share(test), 3846 / 16281.0, 1e-9);
  const Column& workclass = train.column("workclass");
  EXPECT_EQ(workclass.ids, 9);  // eight words and the missing one
  EXPECT_EQ(train.column("native_country").ids, 42);
  EXPECT_EQ(test.column("native_country").words, train.column("native_country").words);
  const Batch first = train.rows(0, 1);
  const auto id = static_cast<std::size_t>(first.at("workclass").data<std::int64_t>()[0]);
  EXPECT_EQ(workclass.words[id], "State-gov");
  std::int64_t missing = 0;
  for (const std::int64_t value : train.all().at("workclass").to_vector<std::int64_t>()) {
    missing += value == 0 ? 1 : 0;
  }
  EXPECT_EQ(missing, 1836);
}

TEST_F(Known, Movielens) {
  NEEDS_DATA("movielens/train");
  NEEDS_DATA("movielens/test");
  const Dataset train = open("movielens/train"), test = open("movielens/test");
  EXPECT_EQ(test.size(), 10083);
  EXPECT_EQ(train.size() + test.size(), 100836);
  EXPECT_EQ(train.column("user").ids, 610);
  EXPECT_EQ(train.column("item").ids, 9724);
  double sum = 0;
  std::vector<bool> seen(9724);
  for (const Dataset& part : {train, test}) {
    const Batch all = part.all();
    for (const float value : all.at("rating").to_vector<float>()) {
      EXPECT_TRUE(value >= 0.5f && value <= 5.0f);
      sum += value;
    }
    for (const std::int64_t item : all.at("item").to_vector<std::int64_t>()) {
      seen.at(static_cast<std::size_t>(item)) = true;
    }
  }
  EXPECT_NEAR(sum / 100836, 3.501557, 1e-6);  // the published mean
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 9724);
  EXPECT_EQ(movielens("test").all().at("user").str(), test.all().at("user").str());
}

TEST_F(Known, Frappe) {
  NEEDS_DATA("frappe/train");
  NEEDS_DATA("frappe/test");
  const Dataset train = open("frappe/train"), test = open("frappe/test");
  EXPECT_EQ(train.size(), 57722);
  EXPECT_EQ(test.size(), 28860);
  EXPECT_EQ(train.column("ids").ids, 5382);
  const Batch row = test.rows(0, 1);
  EXPECT_TRUE(equal(row.at("ids"),
                    Tensor::from<std::int64_t>(
                        {1, 10}, {204, 4798, 5041, 5046, 5053, 5055, 5058, 5060, 5073, 5183})));
  EXPECT_EQ(row.at("target").item<float>(), 0);
  EXPECT_EQ(row.at("values").data<float>()[9], 1);
}

TEST_F(Known, Criteo) {
  NEEDS_DATA("criteo/train");
  const Dataset train = open("criteo/train"), test = open("criteo/test");
  EXPECT_EQ(train.size() + test.size(), 1599);
  EXPECT_EQ(test.size(), 319);
  EXPECT_EQ(train.column("features").shape, std::vector<std::int64_t>{13});
  EXPECT_EQ(train.column("C9").ids, 3);  // two words and what is missing
  double clicks = 0;
  for (const Dataset& part : {train, test}) {
    const Batch all = part.all();
    for (const float value : all.at("target").to_vector<float>()) clicks += value;
    for (const float value : all.at("features").to_vector<float>()) {
      EXPECT_TRUE(value >= 0 && value < 14);  // the logarithm of the largest is 13.8
    }
  }
  EXPECT_EQ(clicks, 334);
}

// The numbers of cells that the files have, counted by other means.
TEST_F(Known, Bccd) {
  NEEDS_DATA("bccd/train");
  const Dataset parts[] = {open("bccd/train"), open("bccd/validation"), open("bccd/test")};
  EXPECT_EQ(parts[0].size(), 205);
  EXPECT_EQ(parts[1].size(), 87);
  EXPECT_EQ(parts[2].size(), 72);
  std::int64_t cells[3] = {};
  for (const Dataset& part : parts) {
    EXPECT_EQ(part.column("image").shape, (std::vector<std::int64_t>{3, 480, 640}));
    EXPECT_EQ(part.column("boxes").shape, (std::vector<std::int64_t>{30, 4}));
    for (const Batch& batch : part.batch(8).epoch(0)) {
      const auto counts = batch.at("count").to_vector<std::int64_t>();
      for (std::size_t i = 0; i < counts.size(); ++i) {
        for (std::int64_t k = 0; k < 30; ++k) {
          const auto at = static_cast<std::int64_t>(i) * 30 + k;
          const float* box = batch.at("boxes").data<float>() + at * 4;
          EXPECT_TRUE(box[2] >= box[0] && box[3] >= box[1] && box[2] <= 640 && box[3] <= 480);
          if (k < counts[i]) ++cells[batch.at("classes").data<std::int64_t>()[at]];
          else EXPECT_EQ(box[3], 0);
        }
      }
    }
  }
  EXPECT_THAT(cells, testing::ElementsAre(4155, 372, 361));
}

TEST_F(Known, SaysHowToGetWhatIsMissing) {
  const TestDirectory directory;
  const std::string error = error_of(
      ErrorKind::not_found, [&] { fashion_mnist("train", {.directory = directory.path()}); });
  EXPECT_THAT(error, testing::HasSubstr("apt-get install dataset-fashion-mnist"));
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_THROW(fashion_mnist("validation"), Error);
  EXPECT_THROW(open("fashion_mnist"), Error);
  EXPECT_THAT(error_of([] { open("fashion_mist/train"); }),
              testing::HasSubstr("did you mean \"fashion_mnist\"?"));
}

}  // namespace
}  // namespace trireme::data
