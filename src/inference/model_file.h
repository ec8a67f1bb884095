#pragma once

// The files of a compiled model: docs/reference/formats/compiled.md.

#include <string>
#include <string_view>
#include <vector>

#include "base/checked_folder.h"
#include "plan/plan.h"
#include "trireme/inference.h"

namespace trireme::inference {

inline constexpr const char* kPlanFile = "plan.json";
inline constexpr const char* kConstantsFile = "constants.safetensors";
inline constexpr const char* kKernelsFile = "kernels.so";
inline constexpr FolderFormat kFormat{"compiled model", 1,
                                      "compile the model again: trireme compile MODEL"};

// What plan.json says.
struct ModelFile {
  std::string name;
  std::string target;
  std::vector<CompiledModel::Port> inputs, outputs;
  std::vector<std::string> labels;
  plan::Plan plan;  // kernels by symbol; parameters are the constants
};

std::string model_file_text(const ModelFile& model);

// Checked so far that running the Plan with feeds that fit the inputs, and with constants and
// kernels that fit the Plan, touches no memory that it may not. Errors: data, with `path`.
ModelFile parse_model_file(std::string_view text, const std::string& path);

}  // namespace trireme::inference
