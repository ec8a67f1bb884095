#pragma once

#include <memory>
#include <vector>

#include "ir/program.h"
#include "trireme/program.h"

namespace trireme {

// While it lives, the updates at the end of the Program are taken out, if the loss was computed
// before them. So gradients of the loss are appended before the updates, and use the parameters
// that the loss used.
class UpdatesLast {
 public:
  explicit UpdatesLast(const Value& loss);
  ~UpdatesLast();
  UpdatesLast(const UpdatesLast&) = delete;
  UpdatesLast& operator=(const UpdatesLast&) = delete;

 private:
  ir::Block& block_;
  std::vector<std::unique_ptr<ir::Op>> updates_;
};

}  // namespace trireme
