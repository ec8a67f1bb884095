#include "nn/layer.h"

#include <utility>

#include "base/error.h"
#include "base/philox.h"
#include "trireme/ops.h"

namespace trireme::nn {

LocationScope::LocationScope(const Value& x, const char* what, const SourceLocation& where) {
  if (!x) {
    std::string file = where.file_name();
    file.erase(0, file.find_last_of('/') + 1);
    fail_usage(std::string(what) + ": the value is empty\n  at     " + file + ":" +
               std::to_string(where.line()) + "\n  hint   Program::input() and ops return Values");
  }
  builder_ = &x.get()->program->builder();
  if (builder_->has_location()) return;
  location_ = builder_->locate(where);
  location_.layer.clear();  // ops get the layer that is current when they are appended
  guard_.emplace(*builder_, location_);
}

Value LocationScope::make(std::string_view op, Attributes attributes) {
  return Value(builder_->make(op, {}, std::move(attributes)));
}

namespace {

std::string layer_path(ir::Builder& builder, const char* stem, const std::string& name) {
  const std::string own = name.empty() ? builder.unique_name(stem) : name;
  return builder.layer().empty() ? own : builder.layer() + "/" + own;
}

}  // namespace

Layer::Layer(const Value& x, const char* stem, const std::string& name, const SourceLocation& where)
    : LocationScope(x, stem, where), guard_(builder(), layer_path(builder(), stem, name)), x_(x) {}

Value Layer::parameter(std::string_view name, DType dtype, const Shape& shape,
                       const Initializer& initializer, bool trainable,
                       const ParameterSettings& settings) {
  return Value(builder().parameter(builder().layer() + "." + std::string(name), {dtype, shape, ""},
                                   initializer, trainable, builder().locate(), settings));
}

void Layer::torch_source(std::string_view below, ir::TorchSource source) {
  program().torch.sources[builder().layer() + std::string(below)] = std::move(source);
}

void Layer::torch_module(std::string_view name, std::string path) {
  program().torch.modules[builder().layer() + "/" + std::string(name)] = std::move(path);
}

void Layer::torch_ignores(std::string tensor) {
  program().torch.ignored[builder().layer()] = {std::move(tensor)};
}

void Layer::require(bool holds, const std::string& message, const std::string& hint) {
  if (!holds) fail_layer(builder().layer().c_str(), message, hint, x_);
}

std::int64_t stream_of(const Layer& layer) {
  return static_cast<std::int64_t>(stream_named(layer.builder().layer()) >> 1);
}

void fail_layer(const char* what, const std::string& message, const std::string& hint,
                const Value& x) {
  const ir::Location location = x.get()->program->builder().locate();
  std::string text = std::string(what) + ": " + message + "\n  layer  " + location.layer + " at " +
                     location.file + ":" + std::to_string(location.line) + "\n  input  " + x.str();
  if (!hint.empty()) text += "\n  hint   " + hint;
  fail_usage(text);
}

Value spread(const Value& reduced, const Value& like, const std::vector<std::int64_t>& kept_axes) {
  return broadcast(reduced, {.shape = like.shape(), .axes = kept_axes});
}

std::vector<std::int64_t> axes_but(int axis, int rank) {
  std::vector<std::int64_t> axes;
  for (int i = 0; i < rank; ++i) {
    if (i != axis) axes.push_back(i);
  }
  return axes;
}

}  // namespace trireme::nn
