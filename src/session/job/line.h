#pragma once

#include "ir/builder.h"
#include "session/job/node.h"

namespace trireme::job {

// During its lifetime, new ops get a line of the job as their location in errors, dumps and
// profiles.
class LineGuard {
 public:
  LineGuard(ir::Program& program, const Node& node)
      : location_{node.file, node.line, ""}, guard_(program.builder(), location_) {}

 private:
  ir::Location location_;
  ir::Builder::LocationGuard guard_;
};

}  // namespace trireme::job
