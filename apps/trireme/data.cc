// trireme data: lists, verifies and converts data sets.

#include "trireme/data.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>

#include "commands.h"
#include "support.h"
#include "trireme/error.h"
#include "trireme/job.h"
#include "trireme/text_data.h"

namespace commands {
namespace {

namespace tr = trireme;

std::string megabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f MB", bytes / 1e6);
  return text;
}

}  // namespace

void list_data() {
  std::vector<std::vector<std::string>> rows;
  for (const tr::data::KnownData& data : tr::data::known_data()) {
    double bytes = 0;
    for (const std::string& file : data.files) {
      std::error_code error;
      bytes += static_cast<double>(std::filesystem::file_size(file, error));
    }
    if (data.files.empty()) rows.push_back({data.name, "missing", "", data.advice});
    else rows.push_back({data.name, "found", megabytes(bytes), data.files[0]});
  }
  std::printf("%s", table({"data set", "", "size", "where, or how to get it"}, rows).c_str());
}

namespace {

// The parts of a data set: "mnist/test" is one part, "mnist" means all its parts.
std::vector<tr::data::KnownData> parts_of(const std::string& name) {
  std::vector<tr::data::KnownData> result;
  for (tr::data::KnownData& data : tr::data::known_data()) {
    if (data.name == name || data.name.starts_with(name + "/")) result.push_back(std::move(data));
  }
  if (result.empty()) tr::data::open(name);  // throws the error for an unknown name
  return result;
}

}  // namespace

void print_data_paths(const std::string& name) {
  for (const tr::data::KnownData& data : parts_of(name)) {
    if (data.files.empty()) {
      throw tr::Error(tr::ErrorKind::not_found, data.name + ": not found; " + data.advice);
    }
    for (const std::string& file : data.files) std::printf("%s\n", file.c_str());
  }
}

namespace {

// Reads a corpus and prints its number of examples and the number of distinct values per field.
void verify_corpus(const std::string& name) {
  const tr::data::Corpus corpus = tr::data::open_text(name);
  std::string text;
  for (std::size_t i = 0; i < corpus.fields.size(); ++i) {
    const std::set<std::string_view> distinct(corpus.values[i].begin(), corpus.values[i].end());
    text += ", " + corpus.fields[i] + " (" + std::to_string(distinct.size()) + " distinct)";
  }
  std::printf("%s: ok, %lld text examples%s\n", name.c_str(), static_cast<long long>(corpus.size()),
              text.c_str());
}

// The index in the batch of the example that holds packed row `row`.
std::int64_t example_of(const tr::RaggedTensor& ragged, std::int64_t row) {
  std::int64_t example = 0;
  while (ragged.row_begin(example + 1) <= row) ++example;
  return example;
}

void check_values(const tr::data::Column& column, const tr::data::Batch& batch,
                  std::int64_t first) {
  const tr::Tensor& tensor = batch.at(column.name);
  const auto fail = [&](std::int64_t element, const std::string& what) {
    std::int64_t example = element / (tensor.elements() / tensor.dim(0));
    if (column.levels > 0) {
      example = example_of(tr::RaggedTensor::from_feeds(batch, column.name), example);
    }
    throw tr::Error(tr::ErrorKind::data, "example " + std::to_string(first + example) +
                                             ": column \"" + column.name + "\" " + what);
  };
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (column.dtype == tr::f32 && !std::isfinite(tensor.data<float>()[i])) {
      fail(i, "is not finite");
    }
    if (column.dtype != tr::i64 || column.ids == 0) continue;
    const std::int64_t id = tensor.data<std::int64_t>()[i];
    if (id < 0 || id >= column.ids) {
      fail(i, "is " + std::to_string(id) + ", but must be from 0 to " +
                  std::to_string(column.ids - 1));
    }
  }
}

// Reads a whole data set and prints its number of examples and its columns.
void verify(const std::string& specification) {
  if (tr::data::is_corpus(specification)) return verify_corpus(specification);
  const tr::data::Dataset dataset = tr::open_data(specification);
  std::vector<tr::data::Column> columns = dataset.columns();
  std::string text;
  for (tr::data::Column& column : columns) {
    text += ", " + column.name + " " + type_of(column);
    if (column.name == "label" && column.dtype == tr::i64) {
      column.ids = static_cast<std::int64_t>(dataset.class_names().size());
    }
  }
  std::int64_t first = 0;
  for (const tr::data::Batch& batch : dataset.batch(256).epoch(0)) {
    for (const tr::data::Column& column : columns) {
      check_values(column, batch, first);
    }
    first += tr::data::examples_in(batch);
  }
  std::printf("%s: ok, %lld examples%s\n", specification.c_str(), static_cast<long long>(first),
              text.c_str());
}

}  // namespace

void verify_data(const std::vector<std::string>& specifications) {
  for (const std::string& specification : specifications) verify(specification);
  if (!specifications.empty()) return;
  for (const tr::data::KnownData& data : tr::data::known_data()) {
    if (!data.files.empty()) verify(data.name);
  }
}

void convert_data(const std::string& specification, const std::string& output) {
  if (!output.ends_with(".trec")) {
    throw tr::Error(tr::ErrorKind::usage,
                    "data convert: " + output + ": the name of a record file ends in .trec");
  }
  const tr::data::Dataset dataset = tr::open_data(specification);
  tr::data::write_records(output, dataset);
  std::error_code error;
  std::printf("%s: %lld examples, %s\n", output.c_str(), static_cast<long long>(dataset.size()),
              megabytes(static_cast<double>(std::filesystem::file_size(output, error))).c_str());
}

}  // namespace commands
