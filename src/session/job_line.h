#pragma once

#include "ir/program.h"
#include "session/job_node.h"

namespace trireme::job {

// Ops made while this lives come from a line of the job, in errors, dumps and profiles.
class LineGuard {
 public:
  LineGuard(ir::Program& program, const Node& node)
      : program_(program),
        location_{node.file, node.line, ""},
        previous_(program.location_override) {
    program_.location_override = &location_;
  }
  ~LineGuard() { program_.location_override = previous_; }
  LineGuard(const LineGuard&) = delete;
  LineGuard& operator=(const LineGuard&) = delete;

 private:
  ir::Program& program_;
  ir::Location location_;
  const ir::Location* previous_;
};

}  // namespace trireme::job
