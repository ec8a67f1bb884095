#pragma once

// What every layer needs while it builds.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "trireme/program.h"

namespace trireme::nn {

// While it lives, new ops carry the caller's line, not ours. The outermost one decides.
class At {
 public:
  // Error(usage) if x is empty.
  At(const Value& x, const char* what, const SourceLocation& where);
  ~At();
  At(const At&) = delete;
  At& operator=(const At&) = delete;

  ir::Program& program() const { return *program_; }
  // Appends an op without operands.
  Value make(std::string_view op, Attributes attributes);

 protected:
  ir::Program* program_;

 private:
  ir::Location location_;
  const ir::Location* previous_;
};

// A layer with parameters: also opens a scope, `name` or a fresh name from `stem`.
class Layer : public At {
 public:
  Layer(const Value& x, const char* stem, const std::string& name, const SourceLocation& where);
  ~Layer();

  Value parameter(std::string_view name, DType dtype, const Shape& shape,
                  const Initializer& initializer, bool trainable = true,
                  const ParameterSettings& settings = {});
  // Error(usage) naming the layer, the caller's line and the value `x` unless `holds`.
  void require(bool holds, const std::string& message, const std::string& hint = "");

 private:
  std::string previous_layer_;
  Value x_;
};

// The stream of random numbers of a layer, by its path: another one for each.
std::int64_t stream_of(const Layer& layer);

// Error(usage) in the same form, for functions that open no scope.
[[noreturn]] void fail_layer(const char* what, const std::string& message, const std::string& hint,
                             const Value& x);

// A value without the dimensions `missing` of `like`, repeated along them.
Value spread(const Value& reduced, const Value& like, const std::vector<std::int64_t>& kept_axes);
// All axes of [0, rank) but `axis`.
std::vector<std::int64_t> axes_but(int axis, int rank);

}  // namespace trireme::nn
