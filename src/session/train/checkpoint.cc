#include "session/train/checkpoint.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/checked_folder.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/safetensors.h"
#include "session/model/model_folder.h"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kStateFile = "checkpoint.json";
constexpr const char* kParametersFile = "parameters.safetensors";
constexpr FolderFormat kFormat{"checkpoint", 1, "resume from an earlier checkpoint"};

bool is_checkpoint_file(std::string_view name) {
  return name == kStateFile || name == kParametersFile || name == kChecksumsFile;
}

Json best_json(const std::optional<Best>& best) {
  if (!best) return nullptr;
  return {{"value", best->value}, {"step", best->step}};
}

Json state_json(const CheckpointState& state) {
  const Progression& p = state.progression;
  Json sums = Json::object();
  for (const auto& [name, value] : p.sums) sums[name] = value;
  return {{"program", {{"name", state.program}, {"xxh128", state.program_hash}}},
          {"seed", state.seed},
          {"data", {{"examples", state.examples}, {"batch_size", state.batch_size}}},
          {"runs", p.runs},
          {"steps", p.steps},
          {"epoch", p.epoch},
          {"batch", p.batch},
          {"fit", {{"epochs", p.fit_epochs}, {"steps", p.fit_steps}}},
          {"sums", {{"examples", p.sum_examples}, {"values", std::move(sums)}}},
          {"best_checkpoint", best_json(p.best_checkpoint)},
          {"early_stopping", {{"best", best_json(p.best_stopping)}, {"waited", p.waited}}}};
}

// Whole numbers from 0 on; another kind of value throws as the JSON library does.
std::uint64_t whole(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_number_unsigned()) throw std::domain_error(fmt::format("\"{}\" is no count", key));
  return value.get<std::uint64_t>();
}

std::int64_t count(const Json& json, const char* key) {
  const std::uint64_t value = whole(json, key);
  if (value > std::numeric_limits<std::int64_t>::max()) {
    throw std::domain_error(fmt::format("\"{}\" is too large", key));
  }
  return static_cast<std::int64_t>(value);
}

std::optional<Best> best_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return Best{json.at("value").get<double>(), count(json, "step")};
}

// Throws what the JSON library throws, for a value that is missing or of another kind.
CheckpointState state_from(const Json& json) {
  CheckpointState state;
  state.program = json.at("program").at("name").get<std::string>();
  state.program_hash = json.at("program").at("xxh128").get<std::string>();
  state.seed = whole(json, "seed");
  state.examples = count(json.at("data"), "examples");
  state.batch_size = count(json.at("data"), "batch_size");
  Progression& p = state.progression;
  p.runs = whole(json, "runs");
  p.steps = count(json, "steps");
  p.epoch = count(json, "epoch");
  p.batch = count(json, "batch");
  p.fit_epochs = count(json.at("fit"), "epochs");
  p.fit_steps = count(json.at("fit"), "steps");
  p.sum_examples = count(json.at("sums"), "examples");
  for (const auto& [name, value] : json.at("sums").at("values").items()) {
    p.sums.emplace_back(name, value.is_null() ? std::nan("") : value.get<double>());
  }
  p.best_checkpoint = best_from(json.at("best_checkpoint"));
  p.best_stopping = best_from(json.at("early_stopping").at("best"));
  p.waited = count(json.at("early_stopping"), "waited");
  return state;
}

}  // namespace

std::string checkpoint_state_text(const CheckpointState& state) {
  return state_json(state).dump(2) + "\n";
}

CheckpointState parse_checkpoint_state(std::string_view text, const std::string& name) {
  try {
    return state_from(parse_json<Json>(text));
  } catch (const std::exception& error) {
    fail_data(fmt::format("{}: {}", name, error.what()));
  }
}

void write_checkpoint(const std::string& directory, const CheckpointState& state) {
  const std::string description = checkpoint_state_text(state);
  const std::string parameters = safetensors_bytes({state.parameters, {}});
  const std::string sums =
      checksums_text(kFormat, {{kStateFile, description}, {kParametersFile, parameters}});
  replace_folder(directory, {"checkpoint", kChecksumsFile, is_checkpoint_file},
                 [&](const std::string& folder) {
                   write_file_atomically(folder + "/" + kStateFile, description);
                   write_file_atomically(folder + "/" + kParametersFile, parameters);
                   write_file_atomically(folder + "/" + kChecksumsFile, sums);
                 });
}

CheckpointState read_checkpoint(const std::string& directory) {
  return read_folder(directory, [](const Folder& folder) {
    const CheckedFolder files(folder, kFormat);
    CheckpointState state = parse_checkpoint_state(files.read(kStateFile), folder.path(kStateFile));
    state.parameters =
        parse_safetensors(files.read(kParametersFile), folder.path(kParametersFile)).tensors;
    return state;
  });
}

}  // namespace trireme
