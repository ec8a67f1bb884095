#pragma once

#include <cstddef>
#include <functional>

#include "codegen/llvm/object.h"

namespace trireme::codegen {

// Calls make(compiler, i) for every i below `count` on up to `threads` threads, each with its own
// compiler. Rethrows the last exception when all have ended.
void for_each_object(std::size_t count, int threads, const Target& target,
                     const std::function<void(ObjectCompiler& compiler, std::size_t i)>& make);

}  // namespace trireme::codegen
