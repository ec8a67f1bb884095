#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "plan/plan.h"

namespace trireme::inference {

// The shared object with the generated code of one compiled model.
class KernelLibrary {
 public:
  // Loads these bytes, and not the file that now has the path: it may have been replaced since they
  // were read and checked. `path` is for messages. Errors: data if they cannot be loaded; io.
  KernelLibrary(std::string path, std::string_view bytes);

  // Returns a function, which keeps the shared object loaded. Errors: data if there is none of that
  // name.
  plan::KernelRun find(const std::string& symbol) const;

 private:
  std::string path_;
  std::shared_ptr<void> handle_;
};

}  // namespace trireme::inference
