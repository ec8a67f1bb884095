#pragma once

#include <string>
#include <vector>

#include "compiler/groups.h"
#include "plan/plan.h"

namespace trireme::compiler {

// Writes the phases of a compilation to numbered text files. Does nothing if the directory is
// empty. Each compilation of a process gets its own subdirectory: compile_0, compile_1 ...
class Dump {
 public:
  explicit Dump(const std::string& directory);
  void program(const std::string& after, const ir::Program& program);
  void groups(const ir::Program& program, const std::vector<Group>& groups);
  void plan(const plan::Plan& plan);

 private:
  void write(const std::string& name, const std::string& text);
  std::string directory_;
  int count_ = 0;
};

}  // namespace trireme::compiler
