#pragma once

#include <map>
#include <string>
#include <string_view>

#include "trireme/tensor.h"

namespace trireme {

// The safetensors format: the size of a header as a little-endian u64, the header in JSON with
// dtype, shape and place of every tensor, and the bytes of the tensors without gaps. The names of
// tensors and what "__metadata__" says are ours to choose.
struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// `name` is for messages. Errors: data, for anything that the format does not allow, such as tensors
// that overlap, leave gaps or reach past the end, and for dtypes that a Tensor cannot have.
Safetensors parse_safetensors(std::string_view bytes, const std::string& name);
std::string safetensors_bytes(const Safetensors& content);

// Errors: not_found, io, data.
Safetensors read_safetensors(const std::string& path);
// Atomically: a reader sees the old file or the new. Errors: io.
void write_safetensors(const std::string& path, const Safetensors& content);

}  // namespace trireme
