#pragma once

#include <memory>
#include <string>

#include "codegen/codegen.h"

namespace trireme::codegen {

// Puts object code into executable memory. Safe to use by several threads at once.
class Loader {
 public:
  virtual ~Loader() = default;
  // The function stays good as long as the Loader lives. Errors: internal, if the object cannot be
  // linked.
  virtual KernelFunction load(const std::string& object) = 0;
};

std::unique_ptr<Loader> make_orc_loader(const Target& target);

}  // namespace trireme::codegen
