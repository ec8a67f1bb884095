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

// The content of plan.json.
struct ModelFile {
  std::string name;
  std::string target;
  std::vector<CompiledModel::Port> inputs, outputs;
  std::vector<std::string> labels;
  plan::Plan plan;  // kernels by symbol; parameters are the constants
};

std::string model_file_text(const ModelFile& model);

// Checks the Plan: a run accesses only its own memory if the feeds match the inputs, and the
// constants and kernels match the Plan. Errors: data with `path`.
ModelFile parse_model_file(std::string_view text, const std::string& path);

}  // namespace trireme::inference
