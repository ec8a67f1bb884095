#include <fmt/core.h>

#include <filesystem>

#include "base/error.h"
#include "data/blob.h"
#include "data/table.h"
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

std::vector<std::string> texts(Table& table, const char* key) {
  const Node* list = table.node(key);
  if (list == nullptr) return {};
  if (list->kind != Node::Kind::list) fail_at(*list, "must be a list, but is " + kind_text(*list));
  return texts(*list);
}

data::Missing read_missing(Table& table, double* constant) {
  const Node* node = table.node("missing");
  if (node == nullptr) return data::Missing::error;
  if (node->kind == Node::Kind::integer || node->kind == Node::Kind::number) {
    *constant =
        node->kind == Node::Kind::integer ? static_cast<double>(node->integer) : node->number;
    return data::Missing::constant;
  }
  const std::string policy = table.text("missing", "");
  if (policy == "mean") return data::Missing::mean;
  if (policy == "error") return data::Missing::error;
  fail_at(*node, "must be \"error\", \"mean\" or a number, but is " + kind_text(*node));
}

// Sets `encoding` unless it is null.
data::Dataset open_csv(const std::string& path, const data::CsvOptions& options,
                       std::string* encoding) {
  data::EncodedTable table = data::read_encoded_table(path, options);
  if (encoding != nullptr) *encoding = data::encoding_text(table.encoding);
  return std::move(table.dataset);
}

data::Dataset open_csv(Table& table, const std::string& directory, std::string* encoding) {
  data::CsvOptions options;
  const std::string path = path_in(directory, table.text("csv", ""));
  options.target = table.text("target", "");
  options.features = texts(table, "features");
  options.one_hot = texts(table, "one_hot");
  options.categories = texts(table, "categories");
  options.integers = texts(table, "integers");
  options.names = texts(table, "names");
  options.named = table.boolean("named", false);
  options.classes = table.boolean("classes", false);
  options.missing = read_missing(table, &options.missing_value);
  options.missing_word = table.text("missing_word", "");
  options.fit = table.text("fit", "");
  if (!options.fit.empty()) options.fit = path_in(directory, options.fit);
  options.standardize = table.boolean("standardize", false);
  options.header = table.boolean("header", true);
  const std::string separator = table.text("separator", ",");
  if (separator.size() != 1) fail_at(*table.node("separator"), "must be one character");
  options.separator = separator[0];
  table.done();
  return open_csv(path, options, encoding);
}

data::Dataset open_idx(Table& table, const std::string& directory) {
  data::IdxOptions options;
  const std::string images = path_in(directory, table.text("images", ""));
  if (!table.has("labels")) fail_at(table.self(), "\"labels\" is missing");
  const std::string labels = path_in(directory, table.text("labels", ""));
  options.classes = table.integer("classes", 0, 0);
  options.class_names = texts(table, "class_names");
  table.done();
  return data::idx_images(images, labels, options);
}

data::Dataset open_libsvm(Table& table, const std::string& directory) {
  const std::string path = path_in(directory, table.text("libsvm", ""));
  const data::LibsvmOptions options{table.integer("ids", 0, 0), table.boolean("zero_one", false)};
  table.done();
  return data::libsvm(path, options);
}

data::Dataset open_folder(Table& table, const std::string& directory) {
  const std::string path = path_in(directory, table.text("folder", ""));
  data::FolderOptions options;
  if (table.has("size")) {
    const std::vector<std::int64_t> size = table.sizes("size", {}, 2);
    options.height = size[0];
    options.width = size[1];
  }
  options.channels = static_cast<int>(table.size("channels", 3));
  table.done();
  return data::image_folder(path, options);
}

data::Dataset open_records(Table& table, const std::string& directory) {
  const std::string path = path_in(directory, table.text("records", ""));
  table.done();
  return data::records(path);
}

data::Dataset open_made_clicks(Table& table) {
  data::ClickOptions options;
  options.examples = table.integer("synthetic_clicks", options.examples);
  options.first = table.integer("first", options.first);
  options.ids = table.integer("ids", options.ids, 2);
  options.exponent = table.number("exponent", options.exponent);
  options.seed = static_cast<std::uint64_t>(table.integer("seed", 1));
  table.done();
  return data::synthetic_clicks(options);
}

}  // namespace

data::Dataset open_dataset(const Node& node, const std::string& directory, std::string* encoding) {
  if (node.kind == Node::Kind::text) {
    try {
      if (data::ends_in(node.text, ".csv")) {
        return open_csv(path_in(directory, node.text), {}, encoding);
      }
      return open_data(node.text, directory);
    } catch (const Error& error) {
      throw Error(error.kind(), node.where() + ": " + node.path + ": " + error.what());
    }
  }
  Table table(node);
  if (table.has("csv")) return open_csv(table, directory, encoding);
  if (table.has("folder")) return open_folder(table, directory);
  if (table.has("records")) return open_records(table, directory);
  if (table.has("libsvm")) return open_libsvm(table, directory);
  if (table.has("images")) return open_idx(table, directory);
  if (table.has("synthetic_clicks")) return open_made_clicks(table);
  fail_at(node,
          "must name a data set (\"mnist/train\"), or be a table with csv, images, libsvm, folder, "
          "records, texts or synthetic_clicks");
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
      if (column.name != target && (many || inputs.empty())) inputs.push_back(column.name);
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
