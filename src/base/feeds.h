#pragma once

// Matches the feeds of a run with the inputs that the Program was compiled for.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/dtype.h"
#include "trireme/shape.h"

namespace trireme {

// Returns the symbol that a Dim depends on, and the size of the symbol if the Dim is `size`: 4 for
// `batch + 1` at 5. Returns nothing if there are several symbols, or they are multiplied, or no
// size fits.
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

// Returns the sizes of the symbols that follow from `feeds`. `owner` names the owner of the inputs
// in messages. Errors: usage for a feed that is no input or differs from it in dtype or shape, and
// for feeds that imply different sizes of a symbol.
SymbolSizes bind_feeds(const std::string& owner, const std::vector<InputView>& inputs,
                       const std::vector<FeedView>& feeds);

// Returns whether the sizes determine this shape. If not, only a run determines it.
bool is_known(const Shape& shape, const SymbolSizes& sizes);

}  // namespace trireme
