#pragma once

// The tables that [data] may have in place of a data set's name, and the augmentations, as fields
// of their structs (nn/catalog/field.h).

#include <optional>
#include <string>
#include <vector>

#include "session/job/settings.h"
#include "session/job/tables.h"
#include "trireme/augment.h"
#include "trireme/readers.h"

namespace trireme::job {

struct CsvTable {
  std::string csv;
  std::string separator = ",", decimal = ".", thousands;
  const Node* missing = nullptr;
  data::CsvOptions options = {};  // without these
};
template <class Visit>
void fields(Visit& visit, CsvTable& o) {
  using F = nn::Field;
  data::CsvOptions& csv = o.options;
  visit(F{.name = "csv", .doc = "the file, plain, .gz or .zst", .required = true}, o.csv);
  visit(F{"target", "column to predict", nn::kAny, false, "the last one"}, csv.target);
  visit(F{"features", "columns of numbers", nn::kAny, false, "all others"}, csv.features);
  visit(F{"one_hot", "columns of words that become zeros and ones"}, csv.one_hot);
  visit(F{"categories", "columns of words that become ids"}, csv.categories);
  visit(F{"integers", "columns of whole numbers that become ids"}, csv.integers);
  visit(F{"names", "of all columns, for a file without header"}, csv.names);
  visit(F{"named", "numbers are columns of their own, instead of one column `features`"},
        csv.named);
  visit(F{"classes", "the target is words, numbered in alphabetical order"}, csv.classes);
  visit(F{.name = "missing",
          .doc = "for a missing number: \"error\", \"mean\" or the number to use",
          .default_text = "`\"error\"`",
          .definition = "missing"},
        o.missing);
  visit(F{"missing_word", "a word that means missing, like an empty cell"}, csv.missing_word);
  visit(F{"fit", "file whose words, means and deviations are used", nn::kAny, false, "this file"},
        csv.fit);
  visit(F{"standardize", "features to mean 0 and deviation 1"}, csv.standardize);
  visit(F{"header", "whether the first line has the names of the columns"}, csv.header);
  visit(F{"separator", "one character between columns"}, o.separator);
  visit(F{"skip_initial_space", "leave out blanks between a separator and a quote"},
        csv.skip_initial_space);
  visit(F{"decimal", "the decimal point of numbers: `\",\"` in 1,5"}, o.decimal);
  visit(F{"thousands", "one character between digits: `\",\"` in 1,234"}, o.thousands);
}

struct FolderTable {
  std::string folder;
  std::optional<nn::Pair> size = {};
  int channels = data::FolderOptions{}.channels;
  bool upright = data::FolderOptions{}.upright;
};
template <class Visit>
void fields(Visit& visit, FolderTable& o) {
  using F = nn::Field;
  visit(F{.name = "folder", .doc = "with one folder of pictures for each class", .required = true},
        o.folder);
  visit(F{"size", "height and width to which pictures are resized", nn::kSize, false,
          "all have one size", "pixels"},
        o.size);
  visit(F{"channels", "1: gray, 3: colors", nn::kSize}, o.channels);
  visit(F{"upright", "turn pictures as their Exif data say"}, o.upright);
}

struct RecordsTable {
  std::string records;
};
template <class Visit>
void fields(Visit& visit, RecordsTable& o) {
  visit(nn::Field{.name = "records", .doc = "a file of records", .required = true}, o.records);
}

struct LibsvmTable {
  std::string libsvm;
  data::LibsvmOptions options = {};
};
template <class Visit>
void fields(Visit& visit, LibsvmTable& o) {
  using F = nn::Field;
  visit(F{.name = "libsvm", .doc = "the file, plain, .gz or .zst", .required = true}, o.libsvm);
  visit(F{"ids", "ids are below this number", kCount, false, "the largest id plus 1"},
        o.options.ids);
  visit(F{"zero_one", "targets -1 become 0"}, o.options.zero_one);
}

struct IdxTable {
  std::string images, labels;
  data::IdxOptions options = {};
};
template <class Visit>
void fields(Visit& visit, IdxTable& o) {
  using F = nn::Field;
  visit(F{.name = "images", .doc = "IDX file, plain or .gz", .required = true}, o.images);
  visit(F{.name = "labels", .doc = "IDX file, plain or .gz", .required = true}, o.labels);
  visit(F{"classes", "labels are below this number", kCount, false, "the number of names"},
        o.options.classes);
  visit(F{"class_names", "names of the labels"}, o.options.class_names);
}

struct ClicksTable {
  data::ClickOptions options = {};
};
template <class Visit>
void fields(Visit& visit, ClicksTable& o) {
  using F = nn::Field;
  visit(F{"synthetic_clicks", "number of examples"}, o.options.examples);
  visit(F{"first", "the number of the first example"}, o.options.first);
  visit(F{"ids", "of the largest column", {.min = 2}}, o.options.ids);
  visit(F{"exponent", "frequencies of ids fall as rank^-exponent"}, o.options.exponent);
  visit(F{"seed", "of the model behind the clicks"}, o.options.seed);
}

// A corpus: see open_corpus().
struct TextsTable {
  std::string texts;
  std::vector<std::string> fields = {"text", "label"};
};
template <class Visit>
void fields(Visit& visit, TextsTable& o) {
  using F = nn::Field;
  visit(F{.name = "texts", .doc = "a corpus, a folder or a file", .required = true}, o.texts);
  visit(F{"fields", "names of the columns of the file"}, o.fields);
}

// Opens the data of a table. Files are relative to `directory`; `encoding` is that of
// open_dataset().
data::Dataset open_source(const CsvTable& table, const std::string& directory,
                          std::string* encoding);
data::Dataset open_source(const FolderTable& table, const std::string& directory, std::string*);
data::Dataset open_source(const RecordsTable& table, const std::string& directory, std::string*);
data::Dataset open_source(const LibsvmTable& table, const std::string& directory, std::string*);
data::Dataset open_source(const IdxTable& table, const std::string& directory, std::string*);
data::Dataset open_source(const ClicksTable& table, const std::string&, std::string*);

// Calls visit(Entry, table) for every kind of table but texts. A table is of the kind whose name it
// has as a key.
template <class Visit>
void for_each_source(Visit&& visit) {
  visit(nn::Entry{"csv", "Rows of a CSV file"}, CsvTable{});
  visit(nn::Entry{"images", "Pictures and labels of IDX files"}, IdxTable{});
  visit(nn::Entry{"libsvm", "Sparse rows of a file of libsvm or libfm"}, LibsvmTable{});
  visit(nn::Entry{"folder", "Pictures in one folder for each class"}, FolderTable{});
  visit(nn::Entry{"records", "A file of records"}, RecordsTable{});
  visit(nn::Entry{"synthetic_clicks", "Clicks drawn from a model"}, ClicksTable{});
}

// Of all pictures: the seed is that of the job.
struct RandomCropOptions {
  std::int64_t size = 0, padding = 0;
};
template <class Visit>
void fields(Visit& visit, RandomCropOptions& o) {
  using F = nn::Field;
  visit(F{"size", "height and width of the result", nn::kSize, true, "", "pixels"}, o.size);
  visit(F{"padding", "black border that is added before", kCount, false, "", "pixels"}, o.padding);
}
struct RandomFlipOptions {
  double probability = data::FlipOptions{}.probability;
};
template <class Visit>
void fields(Visit& visit, RandomFlipOptions& o) {
  visit(nn::Field{"probability", "of a mirrored picture"}, o.probability);
}
struct ColorJitterOptions {
  data::JitterOptions options = {};
};
template <class Visit>
void fields(Visit& visit, ColorJitterOptions& o) {
  using F = nn::Field;
  visit(F{"brightness", "largest relative change"}, o.options.brightness);
  visit(F{"contrast", "largest relative change"}, o.options.contrast);
  visit(F{"saturation", "largest relative change"}, o.options.saturation);
}
struct CutoutSquareOptions {
  std::int64_t size = 0;
};
template <class Visit>
void fields(Visit& visit, CutoutSquareOptions& o) {
  visit(nn::Field{"size", "side of the square", nn::kSize, true, "", "pixels"}, o.size);
}

struct ResizedCropTable {
  std::int64_t size = 0;
  data::ResizedCropOptions options = {};
};
template <class Visit>
void fields(Visit& visit, ResizedCropTable& o) {
  using F = nn::Field;
  visit(F{"size", "height and width of the result", nn::kSize, true, "", "pixels"}, o.size);
  visit(F{"min_area", "smallest part of the picture"}, o.options.min_area);
  visit(F{"max_area", "largest part of the picture"}, o.options.max_area);
  visit(F{"min_ratio", "smallest width for a height of 1"}, o.options.min_ratio);
  visit(F{"max_ratio", "largest width for a height of 1"}, o.options.max_ratio);
}
struct RotateTable {
  double degrees = 0;
};
template <class Visit>
void fields(Visit& visit, RotateTable& o) {
  visit(nn::Field{"degrees", "largest angle, to both sides", {.min = 0, .max = 360}, true},
        o.degrees);
}
struct GrayscaleTable {
  double probability = data::GrayscaleOptions{}.probability;
};
template <class Visit>
void fields(Visit& visit, GrayscaleTable& o) {
  visit(nn::Field{"probability", "of a gray picture"}, o.probability);
}
struct BlurTable {
  data::BlurOptions options = {};
};
template <class Visit>
void fields(Visit& visit, BlurTable& o) {
  using F = nn::Field;
  visit(F{"min_sigma", "smallest standard deviation", nn::kAny, false, "", "pixels"},
        o.options.min_sigma);
  visit(F{"max_sigma", "largest standard deviation", nn::kAny, false, "", "pixels"},
        o.options.max_sigma);
}

// Changes that move pixels, and filters.
template <class Visit>
void for_each_geometric_augmentation(Visit&& visit) {
  using data::Dataset;
  visit(nn::Entry{"random_resized_crop", "Cuts out a random window and resizes it"},
        ResizedCropTable{}, [](const ResizedCropTable& o, const Dataset& d, std::uint64_t seed) {
          data::ResizedCropOptions options = o.options;
          options.seed = seed;
          return d.random_resized_crop(o.size, options);
        });
  visit(nn::Entry{"vertical_flip", "Mirrors top and bottom"}, RandomFlipOptions{},
        [](const RandomFlipOptions& o, const Dataset& d, std::uint64_t seed) {
          return d.vertical_flip({.probability = o.probability, .seed = seed});
        });
  visit(nn::Entry{"rotate", "Turns by a random angle"}, RotateTable{},
        [](const RotateTable& o, const Dataset& d, std::uint64_t seed) {
          return d.rotate(o.degrees, {.seed = seed});
        });
  visit(nn::Entry{"grayscale", "Takes the color away"}, GrayscaleTable{},
        [](const GrayscaleTable& o, const Dataset& d, std::uint64_t seed) {
          return d.grayscale({.probability = o.probability, .seed = seed});
        });
  visit(nn::Entry{"blur", "Applies a random Gaussian filter"}, BlurTable{},
        [](const BlurTable& o, const Dataset& d, std::uint64_t seed) {
          data::BlurOptions options = o.options;
          options.seed = seed;
          return d.blur(options);
        });
}

// Calls visit(Entry, options, apply) for every augmentation.
template <class Visit>
void for_each_augmentation(Visit&& visit) {
  using data::Dataset;
  visit(nn::Entry{"random_crop", "Cuts out a random square"}, RandomCropOptions{},
        [](const RandomCropOptions& o, const Dataset& d, std::uint64_t seed) {
          return d.random_crop(o.size, {.padding = o.padding, .seed = seed});
        });
  visit(nn::Entry{"flip", "Mirrors left and right"}, RandomFlipOptions{},
        [](const RandomFlipOptions& o, const Dataset& d, std::uint64_t seed) {
          return d.flip({.probability = o.probability, .seed = seed});
        });
  visit(nn::Entry{"color_jitter", "Changes brightness, contrast and saturation"},
        ColorJitterOptions{},
        [](const ColorJitterOptions& o, const Dataset& d, std::uint64_t seed) {
          data::JitterOptions options = o.options;
          options.seed = seed;
          return d.color_jitter(options);
        });
  visit(nn::Entry{"cutout", "Blackens a random square"}, CutoutSquareOptions{},
        [](const CutoutSquareOptions& o, const Dataset& d, std::uint64_t seed) {
          return d.cutout(o.size, {.seed = seed});
        });
  for_each_geometric_augmentation(visit);
}

}  // namespace trireme::job
