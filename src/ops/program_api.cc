// The members of the public Program that need the catalog of ops.

#include "ir/program.h"
#include "ops/op.h"

namespace trireme {

Program::Program(std::string name)
    : ir_(std::make_unique<ir::Program>(std::move(name), ops::catalog())) {}

Program Program::parse(std::string_view text) {
  return Program(ir::parse(text, ops::catalog(), ir::InternalOps::refuse));
}

}  // namespace trireme
