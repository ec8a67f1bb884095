// The JSON Schema of job files, made of the catalog.

#include <nlohmann/json.hpp>

#include "trireme/job.h"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;

Json integers(const Json& item, std::size_t count) {
  return {{"type", "array"}, {"items", item}, {"minItems", count}, {"maxItems", count}};
}

void add_limits(const Json& field, Json& schema) {
  const std::pair<const char*, const char*> names[] = {{"min", "minimum"},
                                                       {"above", "exclusiveMinimum"},
                                                       {"max", "maximum"},
                                                       {"below", "exclusiveMaximum"}};
  for (const auto& [ours, theirs] : names) {
    if (field.contains(ours)) schema[theirs] = field[ours];
  }
}

// The schema of one option, without documentation.
Json schema_of(const Json& field) {
  const std::string type = field["type"];
  if (type == "boolean") return {{"type", "boolean"}};
  if (type == "text") {
    if (field.contains("choices")) return {{"enum", field["choices"]}};
    return {{"type", "string"}};
  }
  const bool whole = type != "number" && type != "numbers";
  Json plain = {{"type", whole ? "integer" : "number"}};
  add_limits(field, plain);
  if (type == "integer" || type == "number") return plain;
  if (type == "texts") return {{"$ref", "#/$defs/columns"}};
  if (type == "integers" || type == "numbers") return {{"type", "array"}, {"items", plain}};
  if (type == "pair") return {{"anyOf", {plain, integers(plain, 2)}}};
  if (type == "triple") return {{"anyOf", {plain, integers(plain, 3)}}};
  const Json words = {{"enum", {"same", "valid"}}};
  if (type == "padding1d") return {{"anyOf", {plain, integers(plain, 2), words}}};
  if (type == "padding3d") return {{"anyOf", {plain, integers(plain, 3), words}}};
  if (type == "padding") {
    return {{"anyOf", {plain, integers(plain, 2), integers(plain, 4), words}}};
  }
  return {{"$ref", "#/$defs/" + type}};
}

std::string description_of(const Json& field) {
  std::string text = field["doc"];
  if (field.contains("unit")) text += ", in " + field["unit"].get<std::string>();
  if (field.contains("default_text")) {
    text += "; default: " + field["default_text"].get<std::string>();
  }
  return text;
}

Json table_of(const Json& fields) {
  Json properties = Json::object(), required = Json::array();
  for (const Json& field : fields) {
    Json schema = schema_of(field);
    schema["description"] = description_of(field);
    if (field.contains("default") && !field["default"].is_null()) {
      schema["default"] = field["default"];
    }
    // A required option that follows from the data may be missing.
    if (field.contains("required") && !field.contains("default_text")) {
      required.push_back(field["name"]);
    }
    properties[field["name"].get<std::string>()] = std::move(schema);
  }
  Json table = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) table["required"] = required;
  return table;
}

// A name, or a table with the name as its only key, besides those of `beside`. `more`: further
// options of every entry.
Json choice_of(const Json& entries, const Json& more = Json::object(),
               const Json& beside = Json::object()) {
  Json names = Json::array(), tables = Json::object(), one_of = Json::array();
  for (const Json& entry : entries) {
    Json table = table_of(entry["options"]);
    for (const auto& [key, schema] : more.items()) table["properties"][key] = schema;
    if (entry.contains("doc")) table["description"] = entry["doc"];
    if (!table.contains("required")) names.push_back(entry["name"]);
    one_of.push_back({{"required", {entry["name"]}}});
    tables[entry["name"].get<std::string>()] = std::move(table);
  }
  Json object = {{"type", "object"}, {"additionalProperties", false}};
  if (beside.empty()) {
    object["minProperties"] = object["maxProperties"] = 1;
  } else {
    tables.update(beside);
    object["oneOf"] = one_of;
  }
  object["properties"] = tables;
  return {{"anyOf", {{{"enum", names}}, object}}};
}

Json parameter_list(const Json& settings) {
  Json entry = table_of(settings);
  entry["properties"]["match"] = {
      {"type", "string"}, {"description", "names of parameters; * stands for any characters"}};
  entry["required"] = Json::array({"match"});
  return {{"type", "array"}, {"items", entry}};
}

// The name of a data set, or a table of which one key says what it is.
Json dataset_of(const Json& sources) {
  Json any = Json::array({{{"type", "string"}}});
  for (const Json& source : sources) {
    Json table = table_of(source["options"]);
    table["description"] = source["doc"];
    table["required"] = {source["name"]};
    for (const Json& field : source["options"]) {
      if (field.contains("required") && field["name"] != source["name"]) {
        table["required"].push_back(field["name"]);
      }
    }
    any.push_back(std::move(table));
  }
  return {{"anyOf", any}};
}

Json one_or_list(const Json& one) {
  return {{"anyOf", {one, {{"type", "array"}, {"items", one}, {"minItems", 1}}}}};
}

Json definitions(const Json& catalog) {
  const Json& tables = catalog["tables"];
  const Json text = {{"type", "string"}};
  return {
      {"activation", {{"enum", catalog["activations"]}}},
      {"dataset", one_or_list(dataset_of(catalog["sources"]))},
      {"filters", one_or_list(table_of(tables["filter"]))},
      {"sample", table_of(tables["sample"])},
      {"missing", {{"anyOf", {{{"enum", {"error", "mean"}}}, {{"type", "number"}}}}}},
      {"augmentations", {{"type", "array"}, {"items", choice_of(catalog["augmentations"])}}},
      {"text_options", table_of(catalog["texts"]["text"])},
      {"skip_grams", table_of(catalog["texts"]["skip_grams"])},
      {"columns", {{"anyOf", {text, {{"type", "array"}, {"items", text}}}}}},
      {"metrics", {{"type", "array"}, {"items", choice_of(catalog["metrics"])}}},
      {"column", text},
      {"crosses", {{"type", "array"}, {"items", integers(text, 2)}}},
      {"search", table_of(tables["search"])},
      {"layer",
       choice_of(catalog["layers"], {{"parameters", table_of(tables["parameters"])}},
                 {{"name", {{"type", "string"}, {"description", "for inputs of later layers"}}},
                  {"inputs",
                   {{"anyOf", {text, {{"type", "array"}, {"items", text}}}},
                    {"description", "columns and earlier layers; default: the layer before"}}}})},
      {"loss", choice_of(catalog["losses"])},
      {"optimizer", choice_of(catalog["optimizers"])},
      {"schedule", choice_of(catalog["schedules"])},
      {"schedules", {{"type", "array"}, {"items", {{"$ref", "#/$defs/schedule"}}}}},
      {"average", choice_of(catalog["averages"])},
      {"clip", table_of(tables["clip"])},
      {"early_stopping", table_of(tables["early_stopping"])},
      {"parameter_list", parameter_list(tables["parameters"])}};
}

// The options of a named model are further keys, `layers` among them.
Json model_table(const Json& models) {
  const auto text = [](const char* description) {
    return Json{{"type", "string"}, {"description", description}};
  };
  Json names = Json::array(), cases = Json::array();
  for (const Json& model : models) {
    names.push_back(model["name"]);
    const Json named = {{"properties", {{"name", {{"const", model["name"]}}}}},
                        {"required", Json::array({"name"})}};
    const Json table = table_of(model["options"]);
    Json keys = {{"properties", table["properties"]}};
    if (table.contains("required")) keys["required"] = table["required"];
    cases.push_back({{"if", named}, {"then", keys}});
  }
  cases.push_back(
      {{"if", {{"not", {{"required", Json::array({"name"})}}}}},
       {"then",
        {{"properties",
          {{"layers", {{"type", "array"}, {"items", {{"$ref", "#/$defs/layer"}}}}}}}}}});
  return {{"type", "object"},
          {"properties",
           {{"name", {{"enum", names}, {"description", "a model of the bank"}}},
            {"program", text("file with the text of a Program")},
            {"from", text("folder of a saved model, whose parameters training starts from")},
            {"fresh",
             {{"type", "array"},
              {"items", text("pattern of parameters that are not loaded from that model")}}},
            {"normalize", {{"type", "object"}}}}},
          {"allOf", cases},
          {"unevaluatedProperties", false}};
}

}  // namespace

std::string job_schema_json() {
  const Json catalog = Json::parse(catalog_json());
  const Json& tables = catalog["tables"];
  Json distributed = table_of(tables["distributed"]);
  distributed["properties"]["eviction"] = table_of(tables["eviction"]);
  const Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "Trireme job"},
                       {"type", "object"},
                       {"properties",
                        {{"data", table_of(tables["data"])},
                         {"model", model_table(catalog["models"])},
                         {"train", table_of(tables["train"])},
                         {"output", table_of(tables["output"])},
                         {"checkpoint", table_of(tables["checkpoint"])},
                         {"distributed", distributed}}},
                       {"required", {"data", "model", "train"}},
                       {"additionalProperties", false},
                       {"$defs", definitions(catalog)}};
  return schema.dump(1) + "\n";
}

}  // namespace trireme
