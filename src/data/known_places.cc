// Where the files of the data sets that have names may be, and how to get them.
#include "base/error.h"
#include "data/find.h"

namespace trireme::data {
namespace {

// A file as it is and as people pack it.
std::vector<std::string> packed(const std::string& file) {
  return {file + ".zst", file + ".gz", file};
}

std::vector<KnownPart> mnist_parts() {
  const auto part = [](const std::string& split, const std::string& stem) {
    const std::string images = stem + "-images-idx3-ubyte";
    const std::string labels = stem + "-labels-idx1-ubyte";
    return KnownPart{split, {{images + ".gz", images}, {labels + ".gz", labels}}};
  };
  return {part("train", "train"), part("test", "t10k")};
}

// Parts of one file each; the same file where the loader does the splitting.
std::vector<KnownPart> train_and_test(std::vector<std::string> train,
                                      std::vector<std::string> test) {
  return {{"train", {std::move(train)}}, {"test", {std::move(test)}}};
}

std::vector<KnownPlace> make_places() {
  const std::vector<std::string> california = packed("california_housing.csv");
  const std::vector<std::string> boston = {"boston_house_prices.csv"};
  return {
      {"fashion_mnist",
       {"fashion-mnist", "fashion_mnist"},
       "/usr/share/datasets/fashion-mnist",
       "get it with: apt-get install dataset-fashion-mnist",
       mnist_parts()},
      {"mnist",
       {"mnist"},
       "",
       "put the four files of MNIST into $TRIREME_DATA/mnist",
       mnist_parts()},
      {"cifar10",
       {"cifar10"},
       "",
       "put cifar10_train.rec and cifar10_test.rec into $TRIREME_DATA/cifar10",
       train_and_test(packed("cifar10_train.rec"), packed("cifar10_test.rec"))},
      {"california_housing",
       {"housing", "california_housing"},
       "",
       "put california_housing.csv into $TRIREME_DATA/housing",
       train_and_test(california, california)},
      {"boston_housing",
       {"housing", "boston_housing"},
       "/usr/lib/python3/dist-packages/sklearn/datasets/data",
       "get it with: apt-get install python3-sklearn",
       train_and_test(boston, boston)},
      {"adult",
       {"ctr", "adult"},
       "",
       "put adult-train.csv and adult-test.csv into $TRIREME_DATA/ctr",
       train_and_test(packed("adult-train.csv"), packed("adult-test.csv"))},
      {"movielens",
       {"movielens"},
       "",
       "put ratings.csv of MovieLens into $TRIREME_DATA/movielens",
       train_and_test(packed("ratings.csv"), packed("ratings.csv"))},
      {"frappe",
       {"ctr", "frappe"},
       "",
       "put frappe.validation.libfm and frappe.test.libfm into $TRIREME_DATA/ctr",
       train_and_test(packed("frappe.validation.libfm"), packed("frappe.test.libfm"))},
  };
}

}  // namespace

const std::vector<KnownPlace>& known_places() {
  static const std::vector<KnownPlace> places = make_places();
  return places;
}

const KnownPlace& known_place(std::string_view name) {
  for (const KnownPlace& place : known_places()) {
    if (place.name == name) return place;
  }
  fail_internal("no known data set " + std::string(name));
}

}  // namespace trireme::data
