#include "nn/layer.h"

#include <utility>

#include "base/error.h"
#include "trireme/ops.h"

namespace trireme::nn {

At::At(const Value& x, const char* what, const SourceLocation& where) {
  if (!x) {
    std::string file = where.file_name();
    file.erase(0, file.find_last_of('/') + 1);
    fail_usage(std::string(what) + ": the value is empty\n  at     " + file + ":" +
               std::to_string(where.line()) + "\n  hint   Program::input() and ops return Values");
  }
  program_ = x.get()->program;
  location_ = program_->locate(where);
  location_.layer.clear();  // ops get the layer that is current when they are appended
  previous_ = program_->location_override;
  if (previous_ == nullptr) program_->location_override = &location_;
}

At::~At() { program_->location_override = previous_; }

Value At::make(std::string_view op, Attributes attributes) {
  ir::Block* block = program_->insertion_block ? program_->insertion_block : &program_->main();
  const ir::Location location = program_->locate(SourceLocation::current());
  return Value(program_->append(*block, op, {}, std::move(attributes), location)->result());
}

Layer::Layer(const Value& x, const char* stem, const std::string& name, const SourceLocation& where)
    : At(x, stem, where), previous_layer_(program_->layer), x_(x) {
  const std::string own = name.empty() ? program_->unique_name(stem) : name;
  program_->layer = previous_layer_.empty() ? own : previous_layer_ + "/" + own;
}

Layer::~Layer() { program_->layer = previous_layer_; }

Value Layer::parameter(std::string_view name, DType dtype, const Shape& shape,
                       const Initializer& initializer, bool trainable,
                       const ParameterSettings& settings) {
  const std::string full = program_->layer + "." + std::string(name);
  return Value(program_->add_parameter(full, ir::Type{dtype, shape, ""}, initializer, trainable,
                                       program_->locate(SourceLocation::current()), settings));
}

void Layer::require(bool holds, const std::string& message, const std::string& hint) {
  if (!holds) fail_layer(program_->layer.c_str(), message, hint, x_);
}

std::int64_t stream_of(const Layer& layer) {
  std::uint64_t stream = 14695981039346656037u;  // FNV-1a
  for (const char c : layer.program().layer) {
    stream = (stream ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return static_cast<std::int64_t>(stream >> 1);
}

void fail_layer(const char* what, const std::string& message, const std::string& hint,
                const Value& x) {
  const ir::Location location = x.get()->program->locate(SourceLocation::current());
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
