#pragma once

#include <memory>
#include <string>

#include "plan/plan.h"

namespace trireme::inference {

// The shared object with the generated code of one compiled model.
class KernelLibrary {
 public:
  // Errors: data, with the path, if it cannot be loaded.
  explicit KernelLibrary(std::string path);

  // Returns a function, which keeps the shared object loaded. Errors: data if there is none of that
  // name.
  plan::KernelRun find(const std::string& symbol) const;

 private:
  std::string path_;
  std::shared_ptr<void> handle_;
};

}  // namespace trireme::inference
