#pragma once

// An ONNX model as its file has it (onnx.proto of the ONNX project, IR versions 3 to 13), before
// anything of it is understood. Texts and numbers are copied, the bytes of tensors are not: a
// Model keeps the file's bytes.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::onnx {

// TensorProto.DataType.
enum class ElementType : std::int32_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  complex64 = 14,
  complex128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  i2 = 26,
  f6e2m3 = 27,
  f6e3m2 = 28
};

// TensorProto: its numbers are in `raw` (little-endian), in a list, or in another file.
struct TensorProto {
  std::string name;
  ElementType type = ElementType::undefined;
  std::vector<std::int64_t> dims;
  std::optional<std::string_view> raw;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> integers;  // int32_data and int64_data
  std::vector<std::uint64_t> unsigned_integers;
  std::vector<std::string> strings;
  bool is_external = false;
  std::map<std::string, std::string> external;  // location, offset, length
};

struct SparseTensorProto {
  TensorProto values, indices;
  std::vector<std::int64_t> dims;
};

struct DimProto {
  std::optional<std::int64_t> size;
  std::string symbol;  // may be empty
};

struct TypeProto {
  enum class Kind { none, tensor, sequence, optional, other } kind = Kind::none;
  ElementType element = ElementType::undefined;
  std::optional<std::vector<DimProto>> shape;  // of a tensor; empty: unknown
  std::shared_ptr<TypeProto> inner;            // of a sequence or an optional
};

struct ValueInfo {
  std::string name;
  TypeProto type;
};

struct Graph;

struct AttributeProto {
  enum Kind {
    undefined = 0,
    float_ = 1,
    int_ = 2,
    string = 3,
    tensor = 4,
    graph = 5,
    floats = 6,
    ints = 7,
    strings = 8,
    tensors = 9,
    graphs = 10,
    sparse_tensor = 11,
    type = 13
  };
  std::string name;
  std::string reference;  // the name of an attribute of the function around it
  int kind = undefined;
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::shared_ptr<TensorProto> t;
  std::shared_ptr<Graph> g;
  std::shared_ptr<SparseTensorProto> sparse;
  std::shared_ptr<TypeProto> tp;
  std::vector<float> floats_;
  std::vector<std::int64_t> ints_;
  std::vector<std::string> strings_;
};

struct Node {
  std::vector<std::string> inputs, outputs;  // "" is an input or output that is left out
  std::string name, type, domain, overload;
  std::vector<AttributeProto> attributes;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<TensorProto> initializers;
  std::vector<SparseTensorProto> sparse_initializers;
  std::vector<ValueInfo> inputs, outputs, values;
};

using Opsets = std::map<std::string, std::int64_t>;  // version by domain; "" is that of ONNX

struct Function {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<AttributeProto> defaults;
  std::vector<Node> nodes;
  Opsets opsets;
};

struct Model {
  std::int64_t ir_version = 0;
  std::string producer;
  Opsets opsets;
  Graph graph;
  std::vector<Function> functions;
  std::shared_ptr<const std::string> bytes;
};

// Errors: data, with `name`, for bytes that are no ONNX model.
Model parse_model(std::shared_ptr<const std::string> bytes, const std::string& name);

// A TensorProto alone, such as the files of ONNX test cases. The bytes must outlive it.
TensorProto parse_tensor(std::string_view bytes, const std::string& name);

}  // namespace trireme::onnx
