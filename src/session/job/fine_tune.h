#pragma once

// [model] from: training that starts from the parameters of a saved model.

#include <map>
#include <string>
#include <vector>

#include "session/job/settings.h"
#include "trireme/program.h"
#include "trireme/session.h"
#include "trireme/text.h"

namespace trireme::job {

// Keys of [model].
inline constexpr const char* kFrom = "from";    // the folder
inline constexpr const char* kFresh = "fresh";  // patterns of parameters that are not loaded

// Returns the path of the folder; empty without the key.
std::string starting_model(const Settings& settings, const std::string& directory);

// The vocabularies of the saved model, by column. Errors: as load_model().
std::map<std::string, text::Encoder> starting_encoders(const Settings& settings,
                                                       const std::string& directory);

// Sets the parameters with these names to those of the saved model, except fresh ones. Does nothing
// without the key. Errors: as load_model(); data with the line for a parameter that the model lacks
// or has in another shape, and for a pattern without a parameter.
void load_starting_parameters(const Settings& settings, const std::string& directory,
                              const std::vector<Value>& parameters, Session& session);

}  // namespace trireme::job
