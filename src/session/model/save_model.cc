#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/safetensors.h"
#include "ir/program.h"
#include "session/model/inference_program.h"
#include "session/model/model_folder.h"
#include "trireme/saved_model.h"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> names_of_outputs(const SaveOptions& options) {
  const std::size_t count = options.outputs.size();
  if (options.output_names.empty()) {
    if (count == 1) return {"output"};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("output_{}", i));
    return names;
  }
  if (options.output_names.size() != count) {
    fail_usage(
        fmt::format("save: {} outputs, but {} output_names", count, options.output_names.size()));
  }
  return options.output_names;
}

void check_inputs(const ir::Program& program, const SaveOptions& options) {
  if (options.inputs.empty()) return;
  for (const auto& needed : program.main().arguments) {
    if (!needed->type.splits_of.empty()) continue;  // they come with the rows that they split
    const bool listed = std::any_of(options.inputs.begin(), options.inputs.end(),
                                    [&](Value v) { return v && v.get()->name == needed->name; });
    if (!listed) {
      fail_usage(fmt::format("save: the outputs need input \"{}\" : {}, which is not in .inputs",
                             needed->name, needed->type.str()));
    }
  }
}

Json shape_json(const Shape& shape) {
  Json json = Json::array();
  for (const Dim& dim : shape) {
    if (dim.is_constant()) json.push_back(dim.constant());
    else json.push_back(dim.str());
  }
  return json;
}

Json port_json(const std::string& name, const ir::Type& type) {
  return {{"name", name}, {"dtype", name_of(type.dtype)}, {"shape", shape_json(type.shape)}};
}

// How a port's ids stand for texts, if they do.
void add_text(Json& port, const SaveOptions& options) {
  const auto found = options.text.find(port["name"].get<std::string>());
  if (found == options.text.end()) return;
  const text::TokenOptions& tokens = found->second.tokens;
  if (found->second.subwords) {
    port["text"] = {{"tokens", kSubwords}, {"most", tokens.max_tokens}};
    return;
  }
  port["text"] = {{"tokens", kTokenKinds.at(static_cast<std::size_t>(tokens.kind))},
                  {"lower_case", tokens.lower_case},
                  {"grams", tokens.grams},
                  {"most", tokens.max_tokens},
                  {"distinct", tokens.distinct}};
}

Json describe(const ir::Program& program, const SaveOptions& options) {
  Json json = {{"format", "trireme saved model"}, {"version", 1}, {"name", program.name}};
  json["inputs"] = Json::array();
  for (const auto& input : program.main().arguments) {
    Json port = port_json(input->name, input->type);
    if (const auto found = options.preprocessing.find(input->name);
        found != options.preprocessing.end()) {
      const ImagePreprocessing& p = found->second;
      port["image"] = {
          {"channels", p.channels}, {"height", p.height}, {"width", p.width}, {"invert", p.invert}};
    }
    add_text(port, options);
    json["inputs"].push_back(std::move(port));
  }
  json["outputs"] = Json::array();
  const std::vector<std::string> names = names_of_outputs(options);
  for (std::size_t i = 0; i < names.size(); ++i) {
    Json port = port_json(names[i], program.main().results[i]->type);
    add_text(port, options);
    json["outputs"].push_back(std::move(port));
  }
  if (!options.labels.empty()) json["labels"] = options.labels;
  if (!options.target.empty()) json["target"] = options.target;
  const auto add_object = [&](const char* key, const std::string& text) {
    if (text.empty()) return;
    json[key] = try_parse_json<Json>(text);
    if (json[key].is_object()) return;
    fail_usage(fmt::format("save: .{} is no JSON object: {}", key, text));
  };
  add_object("measured", options.measured);
  add_object("samples", options.samples);
  add_object("table", options.table);
  return json;
}

// Vocabularies and subword models, by the names of their files.
void add_texts(const SaveOptions& options, const std::string& folder,
               std::map<std::string, std::string>& files) {
  for (const auto& [port, encoder] : options.text) {
    const std::string name = encoder.subwords ? subwords_file(port) : vocabulary_file(port);
    if (!is_plain_name(name)) {
      fail_usage(fmt::format("save: \"{}\" takes texts, and no file can have its name", port));
    }
    if (encoder.subwords) {
      encoder.subwords->save(folder + "/" + name);
      files[name] = read_file(folder + "/" + name);
    } else {
      files[name] = encoder.vocabulary.str();
    }
  }
}

}  // namespace

void save_model(const Program& program, Session& session, const std::string& directory,
                const SaveOptions& options) {
  if (options.outputs.empty()) fail_usage("save: .outputs is empty; name what the model computes");
  const std::unique_ptr<ir::Program> copy = inference_program("save", program, options.outputs);
  check_inputs(*copy, options);
  const std::string description = describe(*copy, options).dump(2) + "\n";
  Safetensors weights;
  for (const auto& parameter : copy->parameters()) {
    weights.tensors.emplace(parameter->name(), session.parameter(parameter->name()));
  }
  std::map<std::string, std::string> files{{kProgramFile, ir::print(*copy)},
                                           {kWeightsFile, safetensors_bytes(weights)},
                                           {kModelFile, description}};
  weights.tensors.clear();
  replace_folder(directory, kSavedModel, [&](const std::string& folder) {
    add_texts(options, folder, files);
    std::map<std::string, std::string_view> contents;
    for (const auto& [name, content] : files) {
      write_file_atomically(folder + "/" + name, content);
      contents.emplace(name, content);
    }
    write_file_atomically(folder + "/" + kChecksumsFile, checksums_text(kSavedFormat, contents));
  });
}

void save_model(Model& model, const std::string& directory) {
  SaveOptions options{.outputs = model.program().outputs(),
                      .labels = model.labels(),
                      .preprocessing = model.preprocessing(),
                      .text = model.text(),
                      .target = model.target(),
                      .measured = model.measured(),
                      .samples = model.samples(),
                      .table = model.table()};
  for (const Model::Port& output : model.outputs()) options.output_names.push_back(output.name);
  save_model(model.program(), model.session(), directory, options);
}

}  // namespace trireme
