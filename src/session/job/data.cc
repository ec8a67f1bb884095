#include <fmt/core.h>

#include <filesystem>

#include "base/error.h"
#include "data/blob.h"
#include "data/table.h"
#include "session/job/data_tables.h"
#include "session/job/field_reader.h"
#include "session/job/model.h"
#include "session/job/settings.h"
#include "session/job/text.h"
#include "session/model/model_folder.h"
#include "trireme/job.h"

namespace trireme {

data::Dataset open_data(const std::string& specification, const std::string& directory) {
  const std::string path = job::path_in(directory, specification);
  if (data::ends_in(specification, ".csv")) return data::csv(path);
  if (data::ends_in(specification, ".libsvm") || data::ends_in(specification, ".libfm")) {
    return data::libsvm(path);
  }
  if (specification.ends_with(".trec")) return data::records(path);
  if (std::filesystem::is_directory(path)) return data::image_folder(path);
  return data::open(specification);
}

namespace {

// `with_target`: whether the data must have the column that the model predicts.
data::Dataset open_for_model(const std::string& specification, const Model& model,
                             bool with_target) {
  if (data::ends_in(specification, ".csv") && !model.table().empty()) {
    const data::TableEncoding encoding = data::read_encoding(model.table(), kModelFile);
    const data::Blob file = data::read_blob(specification);
    return data::encode_table(data::read_table(file.bytes, specification, encoding.options),
                              encoding, model.labels(), with_target);
  }
  if (model.text().empty() || !data::names_corpus(specification)) return open_data(specification);
  const job::Node samples =
      job::parse_json(model.samples().empty() ? "{}" : model.samples(), kModelFile);
  job::TextReader reader(&samples, model.text(), model.labels());
  return reader.read(data::open_corpus(specification, {"text", "label"}));
}

}  // namespace

data::Dataset open_data(const std::string& specification, const Model& model) {
  return open_for_model(specification, model, true);
}

data::Dataset open_inputs(const std::string& specification, const Model& model) {
  return open_for_model(specification, model, false);
}

namespace job {

std::string path_in(const std::string& directory, const std::string& path) {
  if (directory.empty() || std::filesystem::path(path).is_absolute()) return path;
  return directory + "/" + path;
}

namespace {

data::Missing read_missing(const Node& node, double* constant) {
  if (node.kind == Node::Kind::integer || node.kind == Node::Kind::number) {
    *constant = node.kind == Node::Kind::integer ? static_cast<double>(node.integer) : node.number;
    return data::Missing::constant;
  }
  if (node.kind == Node::Kind::text && node.text == "mean") return data::Missing::mean;
  if (node.kind == Node::Kind::text && node.text == "error") return data::Missing::error;
  fail_at(node, "must be \"error\", \"mean\" or a number, but is " + kind_text(node));
}

// Sets `encoding` unless it is null.
data::Dataset open_csv(const std::string& path, const data::CsvOptions& options,
                       std::string* encoding) {
  data::EncodedTable table = data::read_encoded_table(path, options);
  if (encoding != nullptr) *encoding = data::encoding_text(table.encoding);
  return std::move(table.dataset);
}

char one_character(const char* key, const std::string& text) {
  if (text.size() != 1) {
    fail_data(std::string(key) + " must be one character, but is \"" + text + "\"");
  }
  return text[0];
}

}  // namespace

data::Dataset open_source(const CsvTable& table, const std::string& directory,
                          std::string* encoding) {
  data::CsvOptions options = table.options;
  if (table.missing != nullptr) {
    options.missing = read_missing(*table.missing, &options.missing_value);
  }
  if (!options.fit.empty()) options.fit = path_in(directory, options.fit);
  options.separator = one_character("separator", table.separator);
  options.decimal = one_character("decimal", table.decimal);
  if (!table.thousands.empty()) options.thousands = one_character("thousands", table.thousands);
  return open_csv(path_in(directory, table.csv), options, encoding);
}

data::Dataset open_source(const IdxTable& table, const std::string& directory, std::string*) {
  return data::idx_images(path_in(directory, table.images), path_in(directory, table.labels),
                          table.options);
}

data::Dataset open_source(const LibsvmTable& table, const std::string& directory, std::string*) {
  return data::libsvm(path_in(directory, table.libsvm), table.options);
}

data::Dataset open_source(const FolderTable& table, const std::string& directory, std::string*) {
  data::FolderOptions options{.channels = table.channels, .upright = table.upright};
  if (table.size) {
    options.height = table.size->height;
    options.width = table.size->width;
  }
  return data::image_folder(path_in(directory, table.folder), options);
}

data::Dataset open_source(const RecordsTable& table, const std::string& directory, std::string*) {
  return data::records(path_in(directory, table.records));
}

data::Dataset open_source(const ClicksTable& table, const std::string&, std::string*) {
  return data::synthetic_clicks(table.options);
}

namespace {

// The file whose words and means decide how a CSV file is read; empty if the data are of another
// kind.
std::string fit_of(const Node& node) {
  if (node.kind == Node::Kind::text) return data::ends_in(node.text, ".csv") ? node.text : "";
  const Node* file = node.find("fit");
  if (file == nullptr) file = node.find("csv");
  return file == nullptr ? "" : file->text;
}

// Reads a CSV file as the file `fit` is read, if it is not empty.
data::Dataset open_one(const Node& node, const std::string& directory, std::string* encoding,
                       const std::string& fit) {
  if (node.kind == Node::Kind::text) {
    try {
      if (data::ends_in(node.text, ".csv")) {
        data::CsvOptions options;
        if (!fit.empty()) options.fit = path_in(directory, fit);
        return open_csv(path_in(directory, node.text), options, encoding);
      }
      return open_data(node.text, directory);
    } catch (const Error& error) {
      throw Error(error.kind(), node.where() + ": " + node.path + ": " + error.what());
    }
  }
  std::optional<data::Dataset> opened;
  std::string names;
  for_each_source([&](const nn::Entry& entry, auto source) {
    names += entry.name;
    names += ", ";
    if (opened || node.find(entry.name) == nullptr) return;
    Table table(node);
    FieldReader reader(table);
    fields(reader, source);
    table.done();
    if constexpr (std::is_same_v<decltype(source), CsvTable>) {
      if (source.options.fit.empty()) source.options.fit = fit;
    }
    try {
      opened.emplace(open_source(source, directory, encoding));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;
      throw Error(error.kind(), node.where() + ": " + node.path + ": " + error.what());
    }
  });
  if (opened) return *opened;
  fail_at(node, "must name a data set (\"mnist/train\"), or be a table with one of the keys " +
                    names + "texts");
}

}  // namespace

data::Dataset open_dataset(const Node& node, const std::string& directory, std::string* encoding) {
  if (node.kind != Node::Kind::list) return open_one(node, directory, encoding, "");
  if (node.items.empty()) fail_at(node, "is an empty list");
  const std::string fit = fit_of(node.items[0]);
  std::vector<data::Dataset> parts;
  for (const Node& item : node.items) {
    const bool first = parts.empty();
    parts.push_back(open_one(item, directory, first ? encoding : nullptr, first ? "" : fit));
  }
  try {
    return data::concatenate(std::move(parts));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    fail_at(node, error.what());
  }
}

namespace {

// Which columns share the rows of an input.
void find_shared_rows(const data::Dataset& dataset, Columns& columns, const Node& where) {
  std::vector<data::Column> ragged;  // that have rows of their own
  std::string reason;                // why the last one of them is not it
  const auto shares = [&](const data::Column& column) {
    for (const data::Column& other : ragged) {
      if (other.levels != column.levels) continue;
      reason = difference_of(dataset, column.name, other.name);
      if (!reason.empty()) continue;
      columns.rows_of[column.name] = other.name;
      return true;
    }
    return false;
  };
  for (const data::Column& column : columns.inputs) {
    if (column.levels > 0 && !shares(column)) ragged.push_back(column);
  }
  const data::Column& target = columns.target;
  if (target.levels == 0 || shares(target)) return;
  fail_at(where,
          "column \"" + target.name + "\" is ragged, and no input has such sequences: " +
              (reason.empty() ? "a target for each row needs an input of as many levels" : reason));
}

}  // namespace

Columns choose_columns(const data::Dataset& dataset, const DataSettings& settings, bool many,
                       const Node& where) {
  const std::vector<data::Column>& all = dataset.columns();
  std::string target = settings.target;
  for (const char* usual : {"label", "target", "rating", "next", "roles"}) {
    for (const data::Column& column : all) {
      if (target.empty() && column.name == usual) target = column.name;
    }
  }
  std::vector<std::string> inputs;
  if (settings.input != nullptr) inputs = texts(*settings.input);
  if (settings.input == nullptr) {
    for (const data::Column& column : all) {
      if (column.name == target || column.name == settings.sampling.weights) continue;
      if (many || inputs.empty()) inputs.push_back(column.name);
    }
  }
  if (target.empty() || inputs.empty()) {
    fail_at(where,
            "the data set has no obvious input and target; name them with data.input and "
            "data.target");
  }
  if (!many && inputs.size() > 1) fail_at(*settings.input, "this model takes one column");
  Columns columns{{}, dataset.column(target), 0};
  columns.names = dataset.class_names();
  columns.classes = static_cast<std::int64_t>(columns.names.size());
  if (columns.classes == 0 && is_integer(columns.target.dtype)) {
    columns.classes = columns.target.ids;
  }
  for (const std::string& name : inputs) {
    if (name == target) fail_at(where, "column \"" + name + "\" is input and target");
    columns.inputs.push_back(dataset.column(name));
  }
  find_shared_rows(dataset, columns, where);
  return columns;
}

data::Dataset check_labels(const data::Dataset& dataset, const std::string& column,
                           std::int64_t classes) {
  return dataset.map([column, classes](data::Batch batch) {
    const Tensor& labels = batch.at(column);
    const std::int64_t* begin = labels.data<std::int64_t>();
    for (std::int64_t i = 0; i < labels.elements(); ++i) {
      if (begin[i] >= 0 && begin[i] < classes) continue;
      fail_data(
          fmt::format("label {} is out of range: the network ends in {} classes, so labels "
                      "are 0 to {}",
                      begin[i], classes, classes - 1));
    }
    return batch;
  });
}

}  // namespace job
}  // namespace trireme
