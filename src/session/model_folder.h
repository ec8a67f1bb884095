#pragma once

#include <functional>
#include <string>

namespace trireme {

// Names of the files in a saved model's folder.
inline constexpr const char* kProgramFile = "program.txt";
inline constexpr const char* kWeightsFile = "weights.safetensors";
inline constexpr const char* kModelFile = "model.json";

// Calls write(temporary) to fill a new folder beside `directory` and then puts it in its place in
// one step: whatever fails, a saved model that stood there is still whole. What stands there must
// be a saved model, an empty folder or nothing. Errors: usage, if it is not; io; what write throws.
void replace_model_folder(const std::string& directory,
                          const std::function<void(const std::string& temporary)>& write);

}  // namespace trireme
