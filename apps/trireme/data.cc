// trireme data: lists, downloads, verifies and converts data sets.

#include "trireme/data.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
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
using Json = nlohmann::ordered_json;

std::string megabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f MB", bytes / 1e6);
  return text;
}

}  // namespace

void list_data(bool json) {
  std::vector<std::vector<std::string>> rows;
  Json all = Json::array();
  for (const tr::data::KnownData& data : tr::data::known_data()) {
    double bytes = 0;
    for (const std::string& file : data.files) {
      std::error_code error;
      bytes += static_cast<double>(std::filesystem::file_size(file, error));
    }
    Json entry = {
        {"name", data.name}, {"files", data.files}, {"bytes", static_cast<std::int64_t>(bytes)}};
    if (data.files.empty()) {
      rows.push_back({data.name, "missing", "", data.advice});
      entry["advice"] = data.advice;
    } else {
      rows.push_back({data.name, "found", megabytes(bytes), data.files[0]});
    }
    all.push_back(std::move(entry));
  }
  if (json) std::printf("%s\n", json_text(all, 2).c_str());
  else std::printf("%s", table({"data set", "", "size", "where, or how to get it"}, rows).c_str());
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

// Reads a corpus: its number of examples and the number of distinct values in each field.
Json verify_corpus(const std::string& name) {
  const tr::data::Corpus corpus = tr::data::open_text(name);
  Json fields = Json::object();
  for (std::size_t i = 0; i < corpus.fields.size(); ++i) {
    const std::set<std::string_view> distinct(corpus.values[i].begin(), corpus.values[i].end());
    fields[corpus.fields[i]] = std::to_string(distinct.size()) + " distinct";
  }
  return {{"name", name}, {"examples", corpus.size()}, {"columns", fields}};
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

// Reads a whole data set: its number of examples and its columns.
Json verify(const std::string& specification) {
  if (tr::data::is_corpus(specification)) return verify_corpus(specification);
  const tr::data::Dataset dataset = tr::open_data(specification);
  std::vector<tr::data::Column> columns = dataset.columns();
  Json types = Json::object();
  for (tr::data::Column& column : columns) {
    types[column.name] = type_of(column);
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
  return {{"name", specification}, {"examples", first}, {"columns", types}};
}

void print_verified(const Json& verified) {
  std::string columns;
  for (const auto& [name, type] : verified["columns"].items()) {
    columns += ", " + name + " " + type.get<std::string>();
  }
  std::printf("%s: ok, %lld examples%s\n", verified["name"].get<std::string>().c_str(),
              static_cast<long long>(verified["examples"].get<std::int64_t>()), columns.c_str());
  std::fflush(stdout);
}

}  // namespace

void verify_data(std::vector<std::string> specifications, bool json) {
  if (specifications.empty()) {
    for (const tr::data::KnownData& data : tr::data::known_data()) {
      if (!data.files.empty()) specifications.push_back(data.name);
    }
  }
  Json all = Json::array();
  for (const std::string& specification : specifications) {
    all.push_back(verify(specification));
    if (!json) print_verified(all.back());
  }
  if (json) std::printf("%s\n", json_text(all, 2).c_str());
}

void download_data(const DownloadArguments& arguments) {
  const bool progress = !arguments.quiet && ::isatty(STDERR_FILENO) != 0;
  for (const std::string& name : arguments.names) {
    const auto before_file = [&](const std::string& url, const std::string&) {
      if (!arguments.quiet) std::fprintf(stderr, "%s: %s\n", name.c_str(), url.c_str());
    };
    for (const std::string& path : tr::data::download(name, {.directory = arguments.directory,
                                                             .mirror = arguments.mirror,
                                                             .progress = progress,
                                                             .before_file = before_file})) {
      std::printf("%s\n", path.c_str());
    }
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
