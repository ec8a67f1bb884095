#pragma once

// Fits what a run is given to the inputs that it was compiled for.

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/dtype.h"
#include "trireme/shape.h"

namespace trireme {

struct InputView {
  const std::string* name;
  DType dtype;
  const Shape* shape;
};

struct FeedView {
  const std::string* name;
  DType dtype;
  const std::vector<std::int64_t>* shape;
};

// The sizes of the symbols that `feeds` imply; `owner` has the inputs, for messages. Errors: usage,
// for a feed that is no input or differs from it in dtype or shape, and for feeds that disagree
// about a symbol.
SymbolSizes bind_feeds(const std::string& owner, const std::vector<InputView>& inputs,
                       const std::vector<FeedView>& feeds);

}  // namespace trireme
