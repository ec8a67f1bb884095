#include "onnx/tensor.h"

#include <cstring>
#include <filesystem>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/half.h"
#include "base/number_text.h"
#include "onnx/small_float.h"

namespace trireme::onnx {
namespace {

struct TypeFacts {
  ElementType type;
  const char* name;
  std::optional<DType> carrier;
  int bits;  // of an element in raw_data; 0: texts
};

constexpr TypeFacts kTypes[] = {
    {ElementType::f32, "float", DType::f32, 32},
    {ElementType::u8, "uint8", DType::u8, 8},
    {ElementType::i8, "int8", DType::i8, 8},
    {ElementType::u16, "uint16", DType::u16, 16},
    {ElementType::i16, "int16", DType::i16, 16},
    {ElementType::i32, "int32", DType::i32, 32},
    {ElementType::i64, "int64", DType::i64, 64},
    {ElementType::string, "string", {}, 0},
    {ElementType::boolean, "bool", DType::boolean, 8},
    {ElementType::f16, "float16", DType::f16, 16},
    {ElementType::f64, "double", DType::f64, 64},
    {ElementType::u32, "uint32", DType::u32, 32},
    {ElementType::u64, "uint64", DType::u64, 64},
    {ElementType::complex64, "complex64", {}, 64},
    {ElementType::complex128, "complex128", {}, 128},
    {ElementType::bf16, "bfloat16", DType::bf16, 16},
    {ElementType::f8e4m3fn, "float8e4m3fn", DType::f32, 8},
    {ElementType::f8e4m3fnuz, "float8e4m3fnuz", DType::f32, 8},
    {ElementType::f8e5m2, "float8e5m2", DType::f32, 8},
    {ElementType::f8e5m2fnuz, "float8e5m2fnuz", DType::f32, 8},
    {ElementType::u4, "uint4", DType::u8, 4},
    {ElementType::i4, "int4", DType::i8, 4},
    {ElementType::f4e2m1, "float4e2m1", DType::f32, 4},
    {ElementType::f8e8m0, "float8e8m0", DType::f32, 8},
    {ElementType::u2, "uint2", DType::u8, 2},
    {ElementType::i2, "int2", DType::i8, 2},
    {ElementType::f6e2m3, "float6e2m3", DType::f32, 8},
    {ElementType::f6e3m2, "float6e3m2", DType::f32, 8},
};

const TypeFacts* facts_of(ElementType type) {
  for (const TypeFacts& facts : kTypes) {
    if (facts.type == type) return &facts;
  }
  return nullptr;
}

// The elements of a shape. Errors: data.
std::int64_t elements_of(const std::vector<std::int64_t>& dims, const std::string& what) {
  Checked count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) fail_data(what + " has a negative size: " + std::to_string(dim));
    count = count * Checked(dim);
  }
  // No tensor in memory has more.
  if (!count.valid() || count.value() > (std::int64_t{1} << 48)) {
    fail_data(what + " has sizes whose product is too large");
  }
  return count.value();
}

// Elements of fewer than 8 bits, the lowest bits of a byte first.
int code_at(std::string_view bytes, std::int64_t i, int bits) {
  const int per_byte = 8 / bits;
  const auto byte = static_cast<unsigned char>(bytes[static_cast<std::size_t>(i / per_byte)]);
  return byte >> (i % per_byte * bits) & ((1 << bits) - 1);
}

int signed_code(int code, int bits) { return code >= 1 << (bits - 1) ? code - (1 << bits) : code; }

Tensor of_raw(const TypeFacts& facts, const std::vector<std::int64_t>& dims, std::string_view raw,
              const std::string& what) {
  const std::int64_t count = elements_of(dims, what);
  const std::int64_t bytes = (count * facts.bits + 7) / 8;
  if (static_cast<std::int64_t>(raw.size()) != bytes) {
    fail_data(what + " needs " + std::to_string(bytes) + " bytes, but has " +
              std::to_string(raw.size()));
  }
  Tensor tensor = Tensor::uninitialized(*facts.carrier, dims);
  if (is_small_float(facts.type)) {
    for (std::int64_t i = 0; i < count; ++i) {
      tensor.data<float>()[i] =
          small_float(facts.type, static_cast<unsigned>(code_at(raw, i, facts.bits)));
    }
  } else if (facts.bits < 8) {
    for (std::int64_t i = 0; i < count; ++i) {
      const int code = code_at(raw, i, facts.bits);
      if (*facts.carrier == DType::u8)
        tensor.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(code);
      else tensor.data<std::int8_t>()[i] = static_cast<std::int8_t>(signed_code(code, facts.bits));
    }
  } else if (count > 0) {
    std::memcpy(tensor.bytes(), raw.data(), raw.size());
    if (facts.type == ElementType::boolean) {  // any number but 0 is true
      for (std::int64_t i = 0; i < count; ++i)
        tensor.bytes()[i] = std::byte{raw[static_cast<std::size_t>(i)] != 0};
    }
  }
  return tensor;
}

// Copies the low bytes of integers, which is how int32_data holds the bits of smaller types.
std::string low_bytes(const std::vector<std::int64_t>& integers, std::size_t size) {
  std::string bytes(integers.size() * size, '\0');
  for (std::size_t i = 0; i < integers.size(); ++i)
    std::memcpy(&bytes[i * size], &integers[i], size);
  return bytes;
}

template <class T>
std::string_view bytes_of(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

// The numbers of a list as raw_data would have them.
std::string listed(const TypeFacts& facts, const TensorProto& proto) {
  switch (facts.type) {
    case ElementType::f32: return std::string(bytes_of(proto.floats));
    case ElementType::f64: return std::string(bytes_of(proto.doubles));
    case ElementType::u64: return std::string(bytes_of(proto.unsigned_integers));
    case ElementType::u32: {
      std::vector<std::int64_t> integers(proto.unsigned_integers.begin(),
                                         proto.unsigned_integers.end());
      return low_bytes(integers, 4);
    }
    default:
      return low_bytes(proto.integers, static_cast<std::size_t>(std::max(facts.bits, 8) / 8));
  }
}

}  // namespace

std::optional<DType> carrier_of(ElementType type) {
  const TypeFacts* facts = facts_of(type);
  return facts == nullptr ? std::nullopt : facts->carrier;
}

ElementType element_type_of(DType dtype) {
  for (const TypeFacts& facts : kTypes) {
    if (facts.carrier == dtype) return facts.type;  // the type itself comes before those it carries
  }
  return ElementType::undefined;
}

IntegerRange integer_range(ElementType type) {
  const TypeFacts* facts = facts_of(type);
  if (facts != nullptr && facts->bits < 8) {
    const double numbers = 1 << facts->bits;
    if (facts->carrier == DType::i8) return {-numbers / 2, numbers / 2 - 1};
    return {0, numbers - 1};
  }
  const DTypeInfo& info = info_of(carrier_of(type).value_or(DType::i64));
  return {info.lowest_integer, info.highest_integer};
}

std::string name_of(ElementType type) {
  const TypeFacts* facts = facts_of(type);
  return facts != nullptr ? facts->name : "type " + std::to_string(static_cast<int>(type));
}

const std::string& ExternalFiles::content(const std::string& tensor, const std::string& location) {
  const auto found = contents_.find(location);
  if (found != contents_.end()) return found->second;
  if (!folder_) {
    fail_data(tensor + " is in another file, " + location +
              ", and the model was read from memory\n  hint   load the model by its path");
  }
  namespace fs = std::filesystem;
  const fs::path path(location);
  bool inside = !path.empty() && path.is_relative();
  for (const fs::path& part : path) inside = inside && is_plain_name(part.string());
  const fs::path folder = (fs::path(*folder_) / path).parent_path();
  std::error_code error;
  const fs::path root = fs::weakly_canonical(*folder_, error);
  const fs::path real = fs::weakly_canonical(folder, error);
  inside = inside &&
           std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
  if (!inside) {
    fail_data(tensor + " is in the file \"" + location +
              "\", which is not in the folder of the model; such files are not read");
  }
  return contents_[location] =
             Folder(folder.string()).read(path.filename().string(), FileLimit::content);
}

std::string_view ExternalFiles::bytes(const TensorProto& proto) {
  const std::string what = "the tensor \"" + proto.name + "\"";
  const auto number = [&](const char* key) -> std::optional<std::uint64_t> {
    const auto found = proto.external.find(key);
    if (found == proto.external.end()) return std::nullopt;
    const std::optional<std::int64_t> value = parse_integer(found->second);
    if (!value || *value < 0) fail_data(what + " has a wrong " + key + ": " + found->second);
    return static_cast<std::uint64_t>(*value);
  };
  const auto location = proto.external.find("location");
  if (location == proto.external.end()) fail_data(what + " is in another file, without its name");
  const std::string& content = this->content(what, location->second);
  const std::uint64_t offset = number("offset").value_or(0);
  const std::uint64_t length =
      number("length").value_or(offset > content.size() ? 0 : content.size() - offset);
  if (offset > content.size() || length > content.size() - offset) {
    fail_data(what + " has " + std::to_string(length) + " bytes at " + std::to_string(offset) +
              " of " + location->second + ", which has " + std::to_string(content.size()));
  }
  return std::string_view(content).substr(offset, length);
}

Tensor tensor_of(const TensorProto& proto, ExternalFiles& files) {
  const std::string what = "the tensor \"" + proto.name + "\"";
  const TypeFacts* facts = facts_of(proto.type);
  if (facts == nullptr || !facts->carrier) {
    fail_data(what + " is of " + name_of(proto.type) + ", which Trireme lacks");
  }
  if (proto.is_external) return of_raw(*facts, proto.dims, files.bytes(proto), what);
  if (proto.raw) return of_raw(*facts, proto.dims, *proto.raw, what);
  return of_raw(*facts, proto.dims, listed(*facts, proto), what);
}

Tensor tensor_of(const SparseTensorProto& proto, ExternalFiles& files) {
  const std::string what = "the sparse tensor \"" + proto.values.name + "\"";
  const Tensor values = tensor_of(proto.values, files);
  const Tensor indices = tensor_of(proto.indices, files);
  const std::int64_t count = elements_of(proto.dims, what);
  const auto rank = static_cast<std::int64_t>(proto.dims.size());
  const bool linear = indices.rank() == 1;
  if (values.rank() != 1 || indices.dtype() != DType::i64 ||
      indices.elements() != values.elements() * (linear ? 1 : rank)) {
    fail_data(what + " has values " + values.type_str() + " and indices " + indices.type_str());
  }
  Tensor dense(values.dtype(), proto.dims);
  const std::size_t size = size_of(values.dtype());
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    Checked place = 0;
    for (std::int64_t axis = 0; axis < (linear ? 1 : rank); ++axis) {
      const std::int64_t index = indices.data<std::int64_t>()[linear ? i : i * rank + axis];
      const std::int64_t limit = linear ? count : proto.dims[static_cast<std::size_t>(axis)];
      if (index < 0 || index >= limit) fail_data(what + " has an index outside of it");
      place = place * Checked(linear ? 1 : limit) + Checked(index);
    }
    std::memcpy(dense.bytes() + static_cast<std::size_t>(place.value()) * size,
                values.bytes() + static_cast<std::size_t>(i) * size, size);
  }
  return dense;
}

}  // namespace trireme::onnx
