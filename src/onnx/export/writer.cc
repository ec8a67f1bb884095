#include "onnx/export/writer.h"

#include <protozero/pbf_writer.hpp>

#include "onnx/tensor.h"

namespace trireme::onnx {
namespace {

using protozero::pbf_writer;

// The version of the format that came with a version of the operators. Older ones are written as
// that of version 21, which all readers know.
std::int64_t format_version(std::int64_t opset) {
  if (opset <= 22) return 10;
  return opset < 25 ? opset - 12 : 13;
}

std::string attribute_bytes(const std::string& name, const NodeAttribute& value) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_string(1, name);
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    out.add_int64(3, *number);
    out.add_int32(20, 2);
  } else if (const auto* real = std::get_if<float>(&value)) {
    out.add_float(2, *real);
    out.add_int32(20, 1);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    out.add_bytes(4, *text);
    out.add_int32(20, 3);
  } else if (const auto* graph = std::get_if<GraphBytes>(&value)) {
    out.add_message(6, graph->bytes);
    out.add_int32(20, 5);
  } else {
    for (const std::int64_t one : std::get<std::vector<std::int64_t>>(value)) out.add_int64(8, one);
    out.add_int32(20, 7);
  }
  return bytes;
}

std::string value_bytes(const std::string& name, DType dtype, const Shape& dims, bool symbols) {
  std::string shape, tensor, type, bytes;
  for (const Dim& dim : dims) {
    std::string one;
    if (dim.is_constant()) pbf_writer(one).add_int64(1, dim.constant());
    else if (symbols) pbf_writer(one).add_string(2, dim.str());
    pbf_writer(shape).add_message(1, one);
  }
  {
    pbf_writer out(tensor);
    out.add_int32(1, static_cast<std::int32_t>(element_type_of(dtype)));
    out.add_message(2, shape);
  }
  pbf_writer(type).add_message(1, tensor);
  pbf_writer out(bytes);
  out.add_string(1, name);
  out.add_message(2, type);
  return bytes;
}

}  // namespace

void ModelWriter::begin_graph() { graphs_.emplace_back(); }

GraphBytes ModelWriter::end_graph() {
  pbf_writer(graph()).add_string(2, "graph");
  GraphBytes result{std::move(graph())};
  graphs_.pop_back();
  return result;
}

void ModelWriter::add_node(const std::string& type, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs,
                           const NodeAttributes& attributes, const std::string& name) {
  std::string bytes;
  pbf_writer out(bytes);
  for (const std::string& input : inputs) out.add_string(1, input);
  for (const std::string& output : outputs) out.add_string(2, output);
  out.add_string(3, name);
  out.add_string(4, type);
  for (const auto& [key, value] : attributes) out.add_message(5, attribute_bytes(key, value));
  pbf_writer(graph()).add_message(1, bytes);
}

void ModelWriter::add_initializer(const std::string& name, const Tensor& tensor) {
  std::string bytes;
  pbf_writer out(bytes);
  for (const std::int64_t size : tensor.shape()) out.add_int64(1, size);
  out.add_int32(2, static_cast<std::int32_t>(element_type_of(tensor.dtype())));
  out.add_string(8, name);
  out.add_bytes(9, reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes());
  pbf_writer(graphs_.front()).add_message(5, bytes);
}

void ModelWriter::add_input(const std::string& name, DType dtype, const Shape& shape) {
  pbf_writer(graph()).add_message(11, value_bytes(name, dtype, shape, depth() == 1));
}

void ModelWriter::add_output(const std::string& name, DType dtype, const Shape& shape) {
  pbf_writer(graph()).add_message(12, value_bytes(name, dtype, shape, depth() == 1));
}

std::string ModelWriter::finish(std::int64_t opset, const std::string& name) {
  pbf_writer(graph()).add_string(2, name);
  std::string versions, bytes;
  {
    pbf_writer out(versions);
    out.add_string(1, "");
    out.add_int64(2, opset);
  }
  pbf_writer out(bytes);
  out.add_int64(1, format_version(opset));
  out.add_string(2, "trireme");
  out.add_message(7, graph());
  out.add_message(8, versions);
  return bytes;
}

}  // namespace trireme::onnx
