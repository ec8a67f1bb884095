// Writes a first job file for data without one.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/number_text.h"
#include "data/blob.h"
#include "data/image_folder.h"
#include "data/lines.h"
#include "session/job/guess.h"
#include "trireme/image.h"
#include "trireme/job.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

// A basic string of TOML.
std::string toml_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') result += std::string("\\") + c;
    else if (byte < 0x20 || byte == 0x7f) result += fmt::format("\\u{:04x}", byte);
    else result += c;
  }
  return result + '"';
}

// A list of texts, several in each line.
std::string list_of(const std::vector<std::string>& texts) {
  std::string result = "[", line;
  for (const std::string& text : texts) {
    const std::string next = toml_text(text) + ", ";
    if (line.size() + next.size() > 90) {
      result += "\n  " + line;
      line.clear();
    }
    line += next;
  }
  line.resize(line.size() - 2);  // without the last comma
  return result == "[" ? "[" + line + "]" : result + "\n  " + line + "\n]";
}

// In a comment of one line.
std::string in_comment(const std::string& name) { return toml_text(name.substr(0, 60)); }

// "1 row", "1,200 rows".
std::string count_of(std::size_t count, const std::string& one, const std::string& more) {
  return with_thousands(static_cast<std::int64_t>(count)) + " " + (count == 1 ? one : more);
}

// The data set of a job: what the [data] table says, and what the other tables need to know.
struct Suggestion {
  std::string about;          // "120 rows"
  std::string data;           // keys of [data]
  std::string tables = {};    // sub-tables of [data]
  std::string layers;         // all but the last one, each on a line
  std::size_t outputs = 1;    // of the last layer
  std::string loss, metrics;  // metrics: "" for none
  std::size_t examples = 0;
};

constexpr std::string_view kSplit =
    "validation_split = 0.2  # this share is measured after each epoch, and not trained on\n";

std::string batch_line(std::size_t examples) {
  return fmt::format("batch = {}\n", examples >= 2000 ? 64 : examples >= 200 ? 32 : 8);
}

int epochs_for(std::size_t examples) {
  return examples >= 50'000 ? 5 : examples >= 5'000 ? 10 : 30;
}

void name_classes(Suggestion& suggestion, std::size_t classes) {
  suggestion.outputs = classes;
  suggestion.loss = "cross_entropy";
  suggestion.metrics = classes == 2 ? "[\"auc\", \"f1\"]" : "[\"f1\"]";
}

// --- CSV files

std::string target_comment(const job::TargetGuess& target) {
  const std::string name = in_comment(target.name);
  const std::string of_range = fmt::format("from {:g} to {:g}", target.least, target.largest);
  switch (target.kind) {
    case job::TargetGuess::Kind::zero_one: return "# Predicts whether " + name + " is 1.\n";
    case job::TargetGuess::Kind::classes:
      return fmt::format("# Predicts {}, one of {}.\n", name,
                         count_of(target.distinct, "class", "classes"));
    case job::TargetGuess::Kind::number: break;
  }
  std::string text = "# Predicts " + name + ", a number " + of_range + ".\n";
  if (std::max(std::abs(target.least), std::abs(target.largest)) > 100) {
    text +=
        "# Training is faster if such a column is divided by a constant, so that it is near 1.\n";
  }
  return text;
}

std::string csv_keys(const job::TableGuess& guess, const std::string& file,
                     const std::string& fit) {
  std::vector<std::string> features, words;
  bool has_missing = false;
  for (const job::ColumnGuess& column : guess.columns) {
    const bool is_words = column.use == job::ColumnGuess::Use::words;
    if (!is_words && column.use != job::ColumnGuess::Use::number) continue;
    features.push_back(column.name);
    if (is_words) words.push_back(column.name);
    has_missing |= column.has_missing;
  }
  std::string keys = "csv = " + toml_text(file) + "\n";
  if (!fit.empty())
    keys += "fit = " + toml_text(fit) + "  # words, means and deviations are from it\n";
  if (!guess.format.header) keys += "header = false  # columns are called \"0\", \"1\" ...\n";
  if (guess.format.separator != ',') {
    keys += "separator = " + toml_text(std::string(1, guess.format.separator)) + "\n";
  }
  keys += "target = " + toml_text(guess.target.name) + "\n";
  if (guess.target.kind == job::TargetGuess::Kind::classes) {
    keys += "classes = true  # each different value of the target is a class\n";
  }
  keys += "features = " + list_of(features) + "\n";
  if (!words.empty()) {
    keys += "one_hot = " + list_of(words) + "  # zeros and ones, one for each word\n";
  }
  if (has_missing) keys += "missing = \"mean\"  # an empty cell becomes the mean of its column\n";
  if (!guess.missing_word.empty()) {
    keys += "missing_word = " + toml_text(guess.missing_word) + "  # means missing, too\n";
  }
  return keys + "standardize = true  # numbers to mean 0 and standard deviation 1\n";
}

Suggestion suggest_csv(const std::string& path, const std::string& test, const std::string& file,
                       const std::string& test_file, const std::string& target) {
  const job::TableGuess guess = job::guess_table(data::read_blob(path).bytes, path, target);
  Suggestion suggestion;
  suggestion.examples = guess.rows;
  suggestion.about = count_of(guess.rows, "row", "rows") + " and " +
                     count_of(guess.columns.size(), "column", "columns");
  suggestion.data = target_comment(guess.target);
  for (const job::ColumnGuess& column : guess.columns) {
    if (column.use != job::ColumnGuess::Use::left_out) continue;
    suggestion.data += "# Left out: " + in_comment(column.name) + ", " + column.reason + ".\n";
  }
  suggestion.data += batch_line(guess.rows);
  if (test.empty()) suggestion.data += kSplit;
  suggestion.tables = "\n[data.train]\n" + csv_keys(guess, file, "");
  if (!test.empty()) suggestion.tables += "\n[data.test]\n" + csv_keys(guess, test_file, file);
  suggestion.layers =
      "  { linear = { units = 64, activation = \"relu\" } },\n"
      "  { linear = { units = 32, activation = \"relu\" } },\n";
  switch (guess.target.kind) {
    case job::TargetGuess::Kind::classes: name_classes(suggestion, guess.target.distinct); break;
    case job::TargetGuess::Kind::zero_one:
      suggestion.loss = "binary_cross_entropy";
      suggestion.metrics = "[\"auc\", \"f1\"]";
      break;
    case job::TargetGuess::Kind::number:
      suggestion.loss = "mse";
      suggestion.metrics = "[\"mae\", \"r2\"]";
  }
  return suggestion;
}

// --- Texts

Suggestion suggest_texts(const std::string& path, const std::string& file) {
  const data::Blob blob = data::read_blob(path);
  std::set<std::string_view> labels;
  Suggestion suggestion;
  for (const std::string_view line : data::lines_of(blob.bytes)) {
    if (line.empty()) continue;
    const std::size_t tab = line.find('\t');
    ++suggestion.examples;
    if (tab == std::string_view::npos || line.find('\t', tab + 1) != std::string_view::npos) {
      fail_data(fmt::format("{}: example {} is not a text and a label with one tab between", path,
                            suggestion.examples));
    }
    labels.insert(line.substr(tab + 1));
  }
  if (labels.size() < 2) fail_data(path + ": the texts need at least two different labels");
  suggestion.about = count_of(suggestion.examples, "text", "texts") + " with " +
                     count_of(labels.size(), "label", "labels");
  suggestion.data = "train = " + toml_text(file) + "\n" + std::string(kSplit) +
                    batch_line(suggestion.examples) +
                    "# Words, and pairs of neighbors, that occur at least twice.\n"
                    "text = { grams = 2, min_count = 2 }\n";
  suggestion.layers =
      "  { embedding = { dim = 64, sparse_gradient = true } },\n"
      "  \"sequence_mean\",\n"
      "  \"dropout\",\n";
  name_classes(suggestion, labels.size());
  return suggestion;
}

// --- Pictures

constexpr std::int64_t kSample = 32;   // pictures to look at
constexpr std::int64_t kMaxSide = 64;  // pixels; larger pictures are resized
constexpr std::int64_t kMinSide = 8;   // pixels that the layers below need

struct Pictures {
  std::size_t count = 0, classes = 0;
  std::int64_t height = 0, width = 0;  // of all that were looked at; 0: they differ
  bool gray = true;
};

bool is_gray(const Tensor& image) {
  const auto* pixel = image.data<std::uint8_t>();
  for (std::int64_t i = 0; i < image.dim(0) * image.dim(1); ++i, pixel += 3) {
    if (pixel[0] != pixel[1] || pixel[0] != pixel[2]) return false;
  }
  return true;
}

Pictures look_at_pictures(const std::string& folder) {
  const data::PictureFolder all = data::list_pictures(folder);
  Pictures pictures{all.files.size(), all.class_names.size()};
  const std::size_t step = std::max<std::size_t>(1, all.files.size() / kSample);
  bool first = true, same = true;
  for (std::size_t i = 0; i < all.files.size(); i += step) {
    const Tensor image = image::load(all.files[i], {.channels = 3});
    pictures.gray &= is_gray(image);
    if (first) {
      pictures.height = image.dim(0);
      pictures.width = image.dim(1);
      first = false;
    }
    same &= image.dim(0) == pictures.height && image.dim(1) == pictures.width;
  }
  if (!same) pictures.height = pictures.width = 0;
  return pictures;
}

std::string folder_table(const std::string& folder, const Pictures& pictures) {
  const bool keep = pictures.height >= kMinSide && pictures.width >= kMinSide &&
                    std::max(pictures.height, pictures.width) <= kMaxSide;
  std::string text = "{ folder = " + toml_text(folder);
  if (!keep) text += fmt::format(", size = [{}, {}]", kMaxSide, kMaxSide);
  return text + fmt::format(", channels = {} }}\n", pictures.gray ? 1 : 3);
}

// The first of these subfolders that exists, or "".
std::string subfolder(const std::string& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (fs::is_directory(folder + "/" + name)) return name;
  }
  return "";
}

Suggestion suggest_pictures(const std::string& path, const std::string& folder) {
  const std::string train = subfolder(path, {"train", "training"});
  const std::string test =
      train.empty() ? "" : subfolder(path, {"test", "val", "valid", "validation"});
  const auto below = [](const std::string& where, const std::string& name) {
    return name.empty() ? where : where + "/" + name;
  };
  const Pictures pictures = look_at_pictures(below(path, train));
  if (pictures.classes < 2) {
    fail_data(below(path, train) + ": pictures of one class only; a model needs two subfolders");
  }
  Suggestion suggestion;
  suggestion.examples = pictures.count;
  suggestion.about = count_of(pictures.count, "picture", "pictures") + " of " +
                     count_of(pictures.classes, "class", "classes");
  suggestion.data = "train = " + folder_table(below(folder, train), pictures);
  if (test.empty()) suggestion.data += kSplit;
  else suggestion.data += "test = " + folder_table(below(folder, test), pictures);
  suggestion.data += batch_line(pictures.count) +
                     "augment = [\"flip\"]  # half of the training pictures, left to right\n";
  suggestion.layers =
      "  { conv2d = { channels = 32, kernel = 3, activation = \"relu\" } },\n"
      "  { max_pool = { kernel = 2 } },\n"
      "  { conv2d = { channels = 64, kernel = 3, activation = \"relu\" } },\n"
      "  { max_pool = { kernel = 2 } },\n"
      "  \"flatten\",\n"
      "  { linear = { units = 128, activation = \"relu\" } },\n"
      "  { dropout = { rate = 0.3 } },\n";
  name_classes(suggestion, pictures.classes);
  return suggestion;
}

Suggestion suggest(const std::string& path, const std::string& file, const std::string& target) {
  const bool folder = fs::is_directory(path);
  const auto has = [&](const char* name) { return fs::is_regular_file(path + "/" + name); };
  if (folder && has("train.csv")) {
    const char* test = has("test.csv") ? "/test.csv" : "";
    return suggest_csv(path + "/train.csv", *test == '\0' ? "" : path + test, file + "/train.csv",
                       file + test, target);
  }
  if (data::ends_in(path, ".csv")) return suggest_csv(path, "", file, "", target);
  if (!target.empty()) {
    fail_usage(path + ": only a CSV file has a column to predict; leave out the target");
  }
  if (folder) return suggest_pictures(path, file);
  if (data::ends_in(path, ".tsv")) return suggest_texts(path, file);
  fail_usage(path +
             ": cannot suggest a job for this; give a CSV file, a TSV file with a text and a label "
             "in each line, or a folder of pictures with a subfolder for each class");
}

}  // namespace

std::string suggest_job(const std::string& data, const SuggestOptions& options) {
  std::string path = data;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (!fs::exists(path)) fail(ErrorKind::not_found, path + ": there is no such file or folder");
  const std::string directory = options.directory.empty() ? "." : options.directory;
  const std::string file =
      fs::path(path).is_absolute()
          ? path
          : fs::proximate(fs::absolute(path), fs::absolute(directory)).string();
  const Suggestion suggestion = suggest(path, file, options.target);
  const std::string units = fmt::format("  {{ linear = {{ units = {} }} }},\n", suggestion.outputs);
  return fmt::format(
      "# A first job for {}: {}.\n"
      "# Every choice is a guess. Change what you like; docs/reference/job.md explains all keys.\n"
      "\n[data]\n{}{}"
      "\n[model]\nlayers = [\n{}{}]\n"
      "\n[train]\n"
      "loss = \"{}\"\n"
      "metrics = {}\n"
      "optimizer = {{ adam = {{ learning_rate = 1e-3 }} }}\n"
      "schedule = \"cosine\"  # the learning rate falls to 0 over all epochs\n"
      "epochs = {}\n"
      "seed = 1\n"
      "\n[output]\n"
      "directory = {}  # for the trained model\n",
      in_comment(file), suggestion.about, suggestion.data, suggestion.tables, suggestion.layers,
      units, suggestion.loss, suggestion.metrics, epochs_for(suggestion.examples),
      toml_text(options.output));
}

}  // namespace trireme
