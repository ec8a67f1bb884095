#pragma once

#include <map>
#include <string>
#include <string_view>

#include "trireme/tensor.h"

namespace trireme {

// The safetensors format: the size of a header as a little-endian u64; the header in JSON with
// dtype, shape and offsets of every tensor; the bytes of the tensors without gaps. The format
// leaves the names of tensors and the content of "__metadata__" open.
struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
  // The dtypes of tensors that are not read, because a Tensor cannot have them, by name.
  std::map<std::string, std::string> foreign;
};

// `name` is for messages. Errors: data for anything that the format forbids, such as tensors that
// overlap, leave gaps or reach past the end.
Safetensors parse_safetensors(std::string_view bytes, const std::string& name);
std::string safetensors_bytes(const Safetensors& content);

// Errors: not_found, io, data.
Safetensors read_safetensors(const std::string& path);
// Writes atomically: a reader sees the old file or the new one. Errors: io.
void write_safetensors(const std::string& path, const Safetensors& content);

}  // namespace trireme
