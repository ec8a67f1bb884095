#pragma once

#include "ir/program.h"
#include "trireme/session.h"

namespace trireme {

// The sizes of the symbols that `feeds` imply. Errors: usage, for a feed that is no input of the
// Program or differs from it in dtype or shape, and for feeds that disagree about a symbol.
SymbolSizes bind_feeds(const ir::Program& program, const Feeds& feeds);

}  // namespace trireme
