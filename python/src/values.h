#pragma once

#include <optional>

#include "trireme/array.h"
#include "trireme/optimizer.h"
#include "trireme/program.h"

namespace trireme::python {

// What Python calls a Value. It keeps its Program alive, which a Value of C++ does not. There is
// one object for each Value, so that Python finds it in sets and dicts, whatever `==` means.
class HeldValue {
 public:
  explicit HeldValue(const Value& value) : value_(value), program_(Program::of(value)) {}
  HeldValue(const HeldValue&) = delete;
  HeldValue& operator=(const HeldValue&) = delete;
  virtual ~HeldValue();

  virtual Value value() const { return value_; }
  Program program() const { return Program::of(value()); }

 protected:
  HeldValue() = default;

 private:
  Value value_;
  std::optional<Program> program_;
};

// An Array, which is a Value of the Program that records it.
class HeldArray : public HeldValue {
 public:
  explicit HeldArray(Array held) : array(std::move(held)) {}
  Value value() const override { return array.value(); }
  const Array array;
};

// An optimizer of any kind. A std::variant alone would become the type it holds.
struct HeldOptimizer {
  Optimizer optimizer;
};

}  // namespace trireme::python
