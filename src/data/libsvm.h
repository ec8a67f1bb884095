#pragma once

#include <string>
#include <string_view>

#include "trireme/data.h"

namespace trireme::data {

// As libsvm(), for text in memory. `name` is for messages.
Dataset libsvm_from_text(std::string_view text, const std::string& name,
                         const LibsvmOptions& options);

}  // namespace trireme::data
