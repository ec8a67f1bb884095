#pragma once

#include "trireme/nn.h"

namespace trireme::nn {

// embedding() for ids that check_indices has checked to be in [0, rows); they are not checked
// again.
Value embedding_of_checked(const Value& ids, EmbeddingOptions options, SourceLocation where);

}  // namespace trireme::nn
