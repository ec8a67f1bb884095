#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trireme/export.h"

namespace trireme::data {

class Dataset;  // data.h

struct LoadOptions {
  std::string directory = {};  // where the files are; empty: look in the usual places
};

// The known data sets, split is "train" or "test". They are looked for in the given directory, else
// in $TRIREME_DATA, in ../shared/data beside the working directory and its parents, and where Debian
// puts them. Errors: not_found with how to get them; data, if a file is damaged.
// Images: "image" f32[1, 28, 28] in [0, 1] and "label" i64[].
TRIREME_API Dataset fashion_mnist(std::string_view split, const LoadOptions& options = {});
TRIREME_API Dataset mnist(std::string_view split, const LoadOptions& options = {});
// CIFAR-10 as a pack of JPEG pictures, decoded when read: "image" f32[3, 32, 32] in [0, 1] and
// "label" i64[]. The file is sorted by class, so shuffle.
TRIREME_API Dataset cifar10(std::string_view split, const LoadOptions& options = {});
// Housing: "features" f32[n], standardised with mean and deviation of the training rows, and
// "target" f32[1], the price: in 100,000 dollars (california), in 1,000 dollars (boston). A fixed
// random 80% of the rows are for training. California: 8 numbers, with missing ones replaced by the
// mean, and 5 zeros and ones for the proximity of the ocean. Boston: 13 numbers.
TRIREME_API Dataset california_housing(std::string_view split, const LoadOptions& options = {});
TRIREME_API Dataset boston_housing(std::string_view split, const LoadOptions& options = {});

// Adult census income: "features" f32[6], standardised with mean and deviation of the training rows
// (age, fnlwgt, education_num, capital_gain, capital_loss, hours_per_week); eight columns of ids i64[]
// (workclass, education, marital_status, occupation, relationship, race, sex, native_country), where 0
// is missing or a word that the training rows do not have; "target" f32[1], 1 for more than 50,000.
TRIREME_API Dataset adult(std::string_view split, const LoadOptions& options = {});
// MovieLens: "user" i64[] and "item" i64[], numbered from 0 in the order of the file's ids, and
// "rating" f32[1], 0.5 to 5. A fixed random 10% of the ratings are the test part.
TRIREME_API Dataset movielens(std::string_view split, const LoadOptions& options = {});
// Frappe, use of apps: "ids" i64[10], "values" f32[10], all 1, and "target" f32[1], 0 or 1. The
// original's validation rows are for training here, its test rows are the test part.
TRIREME_API Dataset frappe(std::string_view split, const LoadOptions& options = {});
// Criteo, clicks on advertisements, a sample: "features" f32[13], the logarithms of 1 + x where 0 stands
// for missing and negative x (as Naumov et al. 2019 have it); "C1" to "C26" i64[], ids where 0 is missing
// or a word that the training rows do not have; "target" f32[1], 1 for a click. A fixed random fifth of
// the rows with labels is the test part.
TRIREME_API Dataset criteo(std::string_view split, const LoadOptions& options = {});
// BCCD, blood cells to be found in pictures, parts "train", "validation" and "test" as its authors made
// them: "image" f32[3, 480, 640] in [0, 1], "count" i64[], and for so many cells, at most 30, "boxes"
// f32[30, 4] with x_min, y_min, x_max, y_max in pixels and "classes" i64[30]: 0 red, 1 white, 2 platelets.
// What is beyond count is 0.
TRIREME_API Dataset bccd(std::string_view split, const LoadOptions& options = {});

// A known data set by its text name, "fashion_mnist/train". Errors: usage, with the nearest name.
TRIREME_API Dataset open(std::string_view name, const LoadOptions& options = {});
TRIREME_API std::vector<std::string> known_datasets();

// One part of a known data set or corpus (text_data.h): "mnist/train", and where its files are.
struct KnownData {
  std::string name;
  std::vector<std::string> files;  // empty if one is missing
  std::string advice;              // how to get them
};
TRIREME_API std::vector<KnownData> known_data(const LoadOptions& options = {});

}  // namespace trireme::data
