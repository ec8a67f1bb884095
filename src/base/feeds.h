#pragma once

// Fits what a run is given to the inputs that it was compiled for.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/dtype.h"
#include "trireme/shape.h"

namespace trireme {

// The symbol that a Dim depends on, and its size where the Dim is `size`: 4 for `batch + 1` at 5. Nothing
// if there are several, or they are multiplied, or no size fits.
std::optional<std::pair<std::string, std::int64_t>> implied_size(const Dim& dim, std::int64_t size);

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

// Whether the sizes tell what a value of that shape takes; a run tells the others.
bool is_known(const Shape& shape, const SymbolSizes& sizes);

}  // namespace trireme
