// A job with the defaults of all options, as a TOML file. The catalog has the defaults.

#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "session/job/resolve.h"
#include "trireme/job.h"

namespace trireme::job {
namespace {

using Json = nlohmann::ordered_json;

// Whether a default is a value that a job may have: 0 often means that an option is off.
bool is_usable(const Json& field) {
  if (!field.contains("default")) return false;
  const Json& value = field["default"];
  if (value.is_null() || value == "" || value == Json::array()) return false;
  return !value.is_number() || !field.contains("min") || value >= field["min"];
}

class Resolver {
 public:
  Resolver() : catalog_(Json::parse(catalog_json())) {}

  Json job(const Json& given) const {
    Json all = Json::object();
    all["data"] = table(given["data"], catalog_["tables"]["data"]);
    drop_exclusive(given["data"], all["data"]);
    all["model"] = model(given["model"]);
    all["train"] = table(given["train"], catalog_["tables"]["train"]);
    if (!all["train"].contains("optimizer")) {
      all["train"]["optimizer"] = choice("adam", catalog_["optimizers"]);
    }
    for (const char* name : {"output", "checkpoint"}) {
      const Json filled = table(given.value(name, Json::object()), catalog_["tables"][name]);
      if (!filled.empty()) all[name] = filled;
    }
    if (given.contains("distributed")) all["distributed"] = distributed(given["distributed"]);
    return all;
  }

 private:
  // The given values and the defaults, in the order of the catalog; then the other given keys.
  Json table(const Json& given, const Json& fields) const {
    Json filled = Json::object();
    for (const Json& field : fields) {
      const std::string name = field["name"];
      if (given.contains(name)) filled[name] = value(given[name], field["type"]);
      else if (is_usable(field)) filled[name] = field["default"];
    }
    for (const auto& [name, other] : given.items()) {
      if (!filled.contains(name)) filled[name] = other;
    }
    return filled;
  }

  Json choice(const Json& given, const Json& entries) const {
    const bool bare = given.is_string();
    const std::string name = bare ? given.get<std::string>() : given.items().begin().key();
    for (const Json& entry : entries) {
      if (entry["name"] != name) continue;
      const Json options = table(bare ? Json::object() : given[name], entry["options"]);
      if (options.empty()) return name;
      return {{name, options}};
    }
    return given;
  }

  Json choices(Json given, const Json& entries) const {
    for (Json& one : given) one = choice(one, entries);
    return given;
  }

  Json filters(Json given) const {
    if (!given.is_array()) return table(given, catalog_["tables"]["filter"]);
    for (Json& one : given) one = filters(one);
    return given;
  }

  // A data set that is a table has the name of its kind as a key.
  Json source(Json given) const {
    if (given.is_array()) {
      for (Json& one : given) one = source(one);
    }
    for (const Json& entry : catalog_["sources"]) {
      if (given.is_object() && given.contains(entry["name"])) return table(given, entry["options"]);
    }
    return given;
  }

  Json value(const Json& given, const std::string& type) const {
    if (type == "loss") return choice(given, catalog_["losses"]);
    if (type == "optimizer") return choice(given, catalog_["optimizers"]);
    if (type == "schedule") return choice(given, catalog_["schedules"]);
    if (type == "schedules") return choices(given, catalog_["schedules"]);
    if (type == "average") return choice(given, catalog_["averages"]);
    if (type == "metrics") return choices(given, catalog_["metrics"]);
    if (type == "augmentations") return choices(given, catalog_["augmentations"]);
    if (type == "dataset") return source(given);
    if (type == "filters") return filters(given);
    if (catalog_["tables"].contains(type)) return table(given, catalog_["tables"][type]);
    return given;
  }

  // Which options a named model has depends on its other options and on the data, so it stays as it
  // is.
  Json model(const Json& given) const {
    Json filled = given;
    if (given.contains("name") || !given.contains("layers")) return filled;
    for (Json& entry : filled["layers"]) entry = layer(entry);
    return filled;
  }

  // A layer may have the keys `name` and `inputs` beside its own.
  Json layer(const Json& given) const {
    if (!given.is_object()) return choice(given, catalog_["layers"]);
    Json alone = given, others = Json::object();
    for (const char* key : {"name", "inputs"}) {
      if (!given.contains(key)) continue;
      others[key] = given[key];
      alone.erase(key);
    }
    Json filled = choice(alone, catalog_["layers"]);
    if (filled.is_string() && !others.empty()) filled = {{filled, Json::object()}};
    if (filled.is_object()) filled.update(others);
    return filled;
  }

  Json distributed(const Json& given) const {
    Json filled = table(given, catalog_["tables"]["distributed"]);
    if (filled["mode"] != "all_reduce") return filled;
    for (const char* name :
         {"admission", "memory_limit", "cold_rows", "float16", "staleness", "prefetch"}) {
      if (!given.contains(name)) filled.erase(name);
    }
    return filled;
  }

  // Defaults of keys that another given key replaces.
  static void drop_exclusive(const Json& given, Json& filled) {
    const bool has_folds = filled.contains("folds") && filled["folds"] != 0;
    if (given.contains("validation") || has_folds) filled.erase("validation_split");
    if (!has_folds) filled.erase("folds"), filled.erase("fold");
    if (given.contains("batch_tokens")) filled.erase("batch");
  }

  const Json catalog_;
};

std::string key_text(const std::string& key) {
  const bool bare = !key.empty() && key.find_first_not_of(
                                        "abcdefghijklmnopqrstuvwxyz"
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == key.npos;
  return bare ? key : Json(key).dump();
}

std::string inline_text(const Json& value) {
  if (value.is_object()) {
    std::string text;
    for (const auto& [key, member] : value.items()) {
      text += (text.empty() ? "" : ", ") + key_text(key) + " = " + inline_text(member);
    }
    return text.empty() ? "{}" : "{ " + text + " }";
  }
  if (value.is_array()) {
    std::string text;
    for (const Json& item : value) text += (text.empty() ? "" : ", ") + inline_text(item);
    return "[" + text + "]";
  }
  if (value.is_number_float()) return float_text(value.get<double>());
  return value.dump();  // strings of JSON are strings of TOML
}

// Lists of tables have a line for each table.
std::string value_text(const Json& value) {
  const bool lines = value.is_array() && std::any_of(value.begin(), value.end(),
                                                     [](const Json& v) { return v.is_object(); });
  if (!lines) return inline_text(value);
  std::string text = "[\n";
  for (const Json& item : value) text += "  " + inline_text(item) + ",\n";
  return text + "]";
}

}  // namespace

std::string resolved_text(const Node& root, const Settings& settings) {
  Json given = Json::parse(json_text(root));
  given["train"]["seed"] = settings.seed;
  given["output"]["directory"] = settings.output.directory;
  if (!settings.output.run.empty()) given["output"]["run"] = settings.output.run;
  const Json job = Resolver().job(given);
  std::string text;
  for (const auto& [name, table] : job.items()) {
    text += (text.empty() ? "[" : "\n[") + name + "]\n";
    for (const auto& [key, value] : table.items()) {
      text += key_text(key) + " = " + value_text(value) + "\n";
    }
  }
  return text;
}

}  // namespace trireme::job
