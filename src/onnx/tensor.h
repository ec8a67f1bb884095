#pragma once

// The numbers of ONNX tensors as Tensors.
//
// Types that Trireme lacks are carried by others, which hold their numbers exactly: floats of 8 and
// fewer bits by f32, integers of 4 and 2 bits by i8 and u8.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "onnx/proto.h"
#include "trireme/dtype.h"
#include "trireme/tensor.h"

namespace trireme::onnx {

// The dtype that carries a type; empty for texts, complex numbers and unknown types.
std::optional<DType> carrier_of(ElementType type);

// The type of ONNX with the same numbers.
ElementType element_type_of(DType dtype);

// The smallest and the largest number of a type of integers, rounded to a double.
struct IntegerRange {
  double low, high;
};
IntegerRange integer_range(ElementType type);

// "float16", "int4"; "type 99".
std::string name_of(ElementType type);

// The files beside a model that hold the numbers of its tensors. Keeps what it has read.
class ExternalFiles {
 public:
  // `folder`: of the model; without one, external numbers are an error.
  explicit ExternalFiles(std::optional<std::string> folder) : folder_(std::move(folder)) {}

  // The bytes of a tensor. Valid as long as this object.
  // Errors: data, for a place outside the folder or the file; not_found; io.
  std::string_view bytes(const TensorProto& proto);

 private:
  const std::string& content(const std::string& tensor, const std::string& location);

  std::optional<std::string> folder_;
  std::map<std::string, std::string> contents_;
};

// The numbers of a tensor.
// Errors: data, for shapes and numbers that do not match, and types without a carrier; those of
// ExternalFiles.
Tensor tensor_of(const TensorProto& proto, ExternalFiles& files);
Tensor tensor_of(const SparseTensorProto& proto, ExternalFiles& files);

}  // namespace trireme::onnx
