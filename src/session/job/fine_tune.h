#pragma once

// [model] from: training that starts from the parameters of a saved model.

#include <optional>
#include <string>
#include <vector>

#include "session/job/settings.h"
#include "trireme/program.h"
#include "trireme/saved_model.h"
#include "trireme/session.h"

namespace trireme::job {

// Keys of [model].
inline constexpr const char* kFrom = "from";    // the folder
inline constexpr const char* kFresh = "fresh";  // patterns of parameters that are not loaded

// Returns nothing without the key. Errors: as load_model(), with the line.
std::optional<Model> open_starting_model(const Settings& settings, const std::string& directory);

// Sets these parameters to those of the model, except fresh ones. Does nothing without a model.
// Errors: data with the line for a parameter that the model lacks or has in another shape, and for
// a pattern without a parameter.
void load_starting_parameters(const Settings& settings, std::optional<Model>& model,
                              const std::vector<Value>& parameters, Session& session);

}  // namespace trireme::job
