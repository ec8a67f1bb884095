#pragma once

// Helpers that every layer needs while it builds ops.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "trireme/program.h"

namespace trireme::nn {

// While an object lives, new ops get the line of the caller of the layer. The outermost object
// determines the line.
class LocationScope {
 public:
  // Error(usage) if x is empty.
  LocationScope(const Value& x, const char* what, const SourceLocation& where);
  LocationScope(const LocationScope&) = delete;
  LocationScope& operator=(const LocationScope&) = delete;

  ir::Builder& builder() const { return *builder_; }
  ir::Program& program() const { return builder_->program(); }
  // Appends an op without operands.
  Value make(std::string_view op, Attributes attributes);

 private:
  ir::Builder* builder_;
  ir::Location location_;
  std::optional<ir::Builder::LocationGuard> guard_;
};

// For a layer with parameters: also opens a scope called `name`, or a unique name made from `stem`.
class Layer : public LocationScope {
 public:
  Layer(const Value& x, const char* stem, const std::string& name, const SourceLocation& where);

  Value parameter(std::string_view name, DType dtype, const Shape& shape,
                  const Initializer& initializer, bool trainable = true,
                  const ParameterSettings& settings = {});
  // Record for load_state_dict() how PyTorch names and stores parameters, where it differs
  // (ir/torch.h). `below` is the rest of a parameter's name after the path of this layer: ".weight"
  // or "/query.weight".
  void torch_source(std::string_view below, ir::TorchSource source);
  // The layer `name` directly below this one is the module `path` of the module of this layer.
  void torch_module(std::string_view name, std::string path);
  // The module has a tensor that Trireme does not need.
  void torch_ignores(std::string tensor);
  // Unless `holds`, throws Error(usage) with the layer, the caller's line and the value `x`.
  void require(bool holds, const std::string& message, const std::string& hint = "");

 private:
  ir::Builder::LayerGuard guard_;
  Value x_;
};

// Returns the random stream of a layer, which depends on its path.
std::int64_t stream_of(const Layer& layer);

// Throws Error(usage) in the same form, for functions that open no scope.
[[noreturn]] void fail_layer(const char* what, const std::string& message, const std::string& hint,
                             const Value& x);

// Broadcasts `reduced`, which has the dimensions `kept_axes` of `like`, to the shape of `like`.
Value spread(const Value& reduced, const Value& like, const std::vector<std::int64_t>& kept_axes);
// Returns all axes of [0, rank) except `axis`.
std::vector<std::int64_t> axes_but(int axis, int rank);

}  // namespace trireme::nn
