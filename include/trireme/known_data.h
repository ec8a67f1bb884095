#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/export.h"

namespace trireme::data {

class Dataset;  // data.h

struct LoadOptions {
  std::string directory = {};  // the folder of the files; empty: the usual places
};

// The known data sets; split is "train" or "test". They are searched in the given directory, or
// else in $TRIREME_DATA, in ../shared/data beside the working directory and its parents, and in the
// folders of Debian packages. Errors: not_found with how to get them; data if a file is damaged.
// Images: "image" f32[1, 28, 28] in [0, 1] and "label" i64[].
TRIREME_API Dataset fashion_mnist(std::string_view split, const LoadOptions& options = {});
TRIREME_API Dataset mnist(std::string_view split, const LoadOptions& options = {});
// CIFAR-10 as a pack of JPEG images, which are decoded when they are read: "image" f32[3, 32, 32]
// in [0, 1] and "label" i64[]. The file is sorted by class, so shuffle it.
TRIREME_API Dataset cifar10(std::string_view split, const LoadOptions& options = {});
// Housing: "features" f32[n], standardized with mean and deviation of the training rows, and
// "target" f32[1], the price: in 100,000 dollars (california), in 1,000 dollars (boston). A fixed
// random 80% of the rows are the training part. California: 8 numbers, with missing ones replaced
// by the mean, and 5 zeros and ones for the proximity of the ocean. Boston: 13 numbers.
TRIREME_API Dataset california_housing(std::string_view split, const LoadOptions& options = {});
TRIREME_API Dataset boston_housing(std::string_view split, const LoadOptions& options = {});

// Adult census income: "features" f32[6], standardized with mean and deviation of the training rows
// (age, fnlwgt, education_num, capital_gain, capital_loss, hours_per_week); eight columns of ids
// i64[] (workclass, education, marital_status, occupation, relationship, race, sex,
// native_country), where 0 means missing or a word that is not in the training rows; "target"
// f32[1], 1 for more than 50,000.
TRIREME_API Dataset adult(std::string_view split, const LoadOptions& options = {});
// MovieLens: "user" i64[] and "item" i64[], numbered from 0 in the order of the ids in the file,
// and "rating" f32[1], 0.5 to 5. A fixed random 10% of the ratings are the test part.
TRIREME_API Dataset movielens(std::string_view split, const LoadOptions& options = {});
// Frappe, use of apps: "ids" i64[10], "values" f32[10], all 1, and "target" f32[1], 0 or 1. The
// training part includes the original validation rows; the test part is the original one.
TRIREME_API Dataset frappe(std::string_view split, const LoadOptions& options = {});
// Criteo, clicks on advertisements, a sample: "features" f32[13], the logarithms of 1 + x, with 0
// for missing and negative x (as in Naumov et al. 2019); "C1" to "C26" i64[], ids where 0 means
// missing or a word that is not in the training rows; "target" f32[1], 1 for a click. A fixed
// random fifth of the rows with labels is the test part.
TRIREME_API Dataset criteo(std::string_view split, const LoadOptions& options = {});
// BCCD, detection of blood cells in images, with the parts "train", "validation" and "test" of its
// authors: "image" f32[3, 480, 640] in [0, 1]; "count" i64[], the number of cells, at most 30;
// "boxes" f32[30, 4] with x_min, y_min, x_max, y_max in pixels; "classes" i64[30]: 0 red, 1 white,
// 2 platelets. Entries from count on are 0.
TRIREME_API Dataset bccd(std::string_view split, const LoadOptions& options = {});

// Opens a known data set by name, "fashion_mnist/train". Errors: usage with the nearest name.
TRIREME_API Dataset open(std::string_view name, const LoadOptions& options = {});
TRIREME_API std::vector<std::string> known_datasets();

struct DownloadOptions {
  std::string directory = {};  // receives the data set's folder; empty: $TRIREME_DATA
  std::string mirror = {};     // reads MIRROR/FILE instead of the data set's origin
  bool progress = false;       // shows the progress on stderr
  // Called before each file that is read, with its address and its path.
  std::function<void(const std::string&, const std::string&)> before_file = {};
};
// Gets the files of a known data set from its public origin, with the program curl, and returns
// their paths. Each file is checked against the SHA-256 of its unpacked content, and takes its name
// only then. Files that are there and correct are left alone.
// Errors: usage, for a data set without a known origin, or without a directory; io, if a file
// cannot be read or written, with the address and the cause; data, for another checksum.
TRIREME_API std::vector<std::string> download(std::string_view name,
                                              const DownloadOptions& options = {});
// The data sets that download() knows.
TRIREME_API std::vector<std::string> downloadable_datasets();

// One part of a known data set or corpus (text_data.h), "mnist/train", and its files.
struct KnownData {
  std::string name;
  std::vector<std::string> files;  // empty if one is missing
  std::string advice;              // how to get them
};
TRIREME_API std::vector<KnownData> known_data(const LoadOptions& options = {});

}  // namespace trireme::data
