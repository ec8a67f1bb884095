#pragma once

#include "trireme/optimizer.h"
#include "trireme/program.h"

namespace trireme::python {

// What Python calls a Value. It keeps its Program alive, which a Value of C++ does not. There is
// one object for each Value, so that Python finds it in sets and dicts, whatever `==` means.
struct HeldValue {
  Value value;
  Program program;
  explicit HeldValue(const Value& held) : value(held), program(Program::of(held)) {}
  HeldValue(const HeldValue&) = delete;
  HeldValue& operator=(const HeldValue&) = delete;
  ~HeldValue();
};

// An optimizer of any kind. A std::variant alone would become the type it holds.
struct HeldOptimizer {
  Optimizer optimizer;
};

}  // namespace trireme::python
