#include "base/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace trireme {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxHeader = 100'000'000;  // as other readers have it
constexpr char kMetadata[] = "__metadata__";

constexpr std::pair<DType, const char*> kDTypeNames[] = {
    {DType::boolean, "BOOL"}, {DType::u8, "U8"},   {DType::i32, "I32"},   {DType::i64, "I64"},
    {DType::f32, "F32"},      {DType::f64, "F64"}, {DType::bf16, "BF16"}, {DType::f16, "F16"},
    {DType::i8, "I8"},        {DType::i16, "I16"}, {DType::u16, "U16"},   {DType::u32, "U32"},
    {DType::u64, "U64"}};

// The bytes of a tensor, as offsets from the end of the header.
struct Place {
  std::uint64_t begin;
  std::uint64_t end;
};

class Parser {
 public:
  Parser(std::string_view bytes, const std::string& name) : name_(name) {
    if (bytes.size() < 8) fail("cut short: " + std::to_string(bytes.size()) + " bytes");
    std::uint64_t size = 0;
    for (int i = 7; i >= 0; --i) size = size << 8 | static_cast<unsigned char>(bytes[i]);
    if (size > kMaxHeader || size > bytes.size() - 8) {
      fail("the header should take " + std::to_string(size) + " bytes, the file has " +
           std::to_string(bytes.size() - 8) + " after byte 8");
    }
    header_ = bytes.substr(8, size);
    payload_ = bytes.substr(8 + size);
  }

  Safetensors parse() {
    const Json header = parse_header();
    for (const auto& [key, entry] : header.items()) {
      if (key == kMetadata) {
        read_metadata(entry);
      } else {
        read_tensor(key, entry);
      }
    }
    check_places();
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    fail_data(name_ + ": damaged safetensors file: " + what);
  }

  Json parse_header() const {
    if (!header_.starts_with('{')) fail("the header does not start with {");
    std::set<std::string> seen;
    std::string repeated;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (event == Json::parse_event_t::key && depth == 1 &&
          !seen.insert(parsed.get<std::string>()).second) {
        repeated = parsed.get<std::string>();
      }
      if (depth > kDeepestJson) fail("the header is nested too deeply");
      return true;
    };
    Json header = Json::parse(header_, watch, /*allow_exceptions=*/false);
    if (header.is_discarded() || !header.is_object()) fail("the header is not JSON");
    if (!repeated.empty()) fail("\"" + repeated + "\" occurs twice");
    return header;
  }

  void read_metadata(const Json& entry) {
    if (!entry.is_object()) fail("__metadata__ is not an object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) fail("__metadata__ \"" + key + "\" is not text");
      result_.metadata[key] = value.get<std::string>();
    }
  }

  // entry[field] as a list of numbers that are not negative.
  std::vector<std::uint64_t> numbers(const std::string& key, const Json& entry,
                                     const char* field) const {
    const auto found = entry.find(field);
    if (found == entry.end() || !found->is_array()) fail("\"" + key + "\" has no " + field);
    std::vector<std::uint64_t> result;
    for (const Json& number : *found) {
      if (!number.is_number_unsigned()) fail("\"" + key + "\" has a bad " + field);
      result.push_back(number.get<std::uint64_t>());
    }
    return result;
  }

  // Empty for a dtype that a Tensor cannot have, which goes into `foreign`.
  std::optional<DType> dtype(const std::string& key, const Json& entry) {
    const auto found = entry.find("dtype");
    if (found == entry.end() || !found->is_string()) fail("\"" + key + "\" has no dtype");
    const std::string text = found->get<std::string>();
    for (const auto& [dtype, name] : kDTypeNames) {
      if (text == name) return dtype;
    }
    result_.foreign[key] = text;
    return std::nullopt;
  }

  // Returns the offsets of the tensor's bytes.
  Place place(const std::string& key, const Json& entry) const {
    const std::vector<std::uint64_t> offsets = numbers(key, entry, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > payload_.size()) {
      fail("\"" + key + "\" has data_offsets outside the " + std::to_string(payload_.size()) +
           " bytes of data");
    }
    return {offsets[0], offsets[1]};
  }

  void read_tensor(const std::string& key, const Json& entry) {
    if (!entry.is_object()) fail("\"" + key + "\" is not an object");
    const std::optional<DType> type = dtype(key, entry);
    const std::vector<std::uint64_t> sizes = numbers(key, entry, "shape");
    places_.push_back(place(key, entry));
    if (type) read_bytes(key, *type, sizes, places_.back());
  }

  void read_bytes(const std::string& key, DType type, const std::vector<std::uint64_t>& sizes,
                  const Place& place) {
    std::vector<std::int64_t> shape;
    std::uint64_t bytes = size_of(type);
    for (const std::uint64_t size : sizes) {
      if (__builtin_mul_overflow(bytes, size, &bytes) || size > INT64_MAX) {
        fail("\"" + key + "\" has a shape that is too large");
      }
      shape.push_back(static_cast<std::int64_t>(size));
    }
    if (place.end - place.begin != bytes) {
      fail("\"" + key + "\" needs " + std::to_string(bytes) + " bytes, its data_offsets give " +
           std::to_string(place.end - place.begin));
    }
    Tensor tensor = make_tensor(type, std::move(shape));
    if (bytes > 0) std::memcpy(tensor.bytes(), payload_.data() + place.begin, bytes);
    if (type == DType::boolean) check_booleans(key, tensor);
    result_.tensors.emplace(key, std::move(tensor));
  }

  Tensor make_tensor(DType type, std::vector<std::int64_t> shape) const {
    try {
      return Tensor::uninitialized(type, std::move(shape));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;
      fail(
          error.what());  // such as [0, 2^62, 2^62], which holds no byte and overflows all the same
    }
  }

  void check_booleans(const std::string& key, const Tensor& tensor) const {
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      if (tensor.bytes()[i] > std::byte{1}) fail("\"" + key + "\" has a BOOL that is not 0 or 1");
    }
  }

  // All bytes belong to exactly one tensor.
  void check_places() {
    std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::uint64_t position = 0;
    for (const Place& place : places_) {
      if (place.begin != position) {
        fail(std::string(place.begin < position ? "two tensors overlap" : "there is a gap") +
             " at byte " + std::to_string(std::min(place.begin, position)) + " of the data");
      }
      position = place.end;
    }
    if (position != payload_.size()) {
      fail("the tensors end at byte " + std::to_string(position) + " of the data, which has " +
           std::to_string(payload_.size()));
    }
  }

  const std::string& name_;
  std::string_view header_;
  std::string_view payload_;
  std::vector<Place> places_;
  Safetensors result_;
};

const char* dtype_text(DType wanted) {
  for (const auto& [dtype, text] : kDTypeNames) {
    if (dtype == wanted) return text;
  }
  fail_internal("a dtype that safetensors cannot store");
}

}  // namespace

Safetensors parse_safetensors(std::string_view bytes, const std::string& name) {
  return Parser(bytes, name).parse();
}

std::string safetensors_bytes(const Safetensors& content) {
  Json header = Json::object();
  if (!content.metadata.empty()) header[kMetadata] = content.metadata;
  // Wide dtypes first, so that every tensor is aligned to its elements; then by name.
  std::vector<std::pair<std::string, const Tensor*>> order;
  for (const auto& [name, tensor] : content.tensors) {
    if (name == kMetadata) fail_usage("a tensor cannot be called __metadata__");
    order.emplace_back(name, &tensor);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    const std::size_t a_width = size_of(a.second->dtype());
    const std::size_t b_width = size_of(b.second->dtype());
    return a_width != b_width ? a_width > b_width : a.first < b.first;
  });
  std::size_t position = 0;
  for (const auto& [name, tensor] : order) {
    const std::size_t end = position + tensor->size_bytes();
    header[name] = {{"dtype", dtype_text(tensor->dtype())},
                    {"shape", tensor->shape()},
                    {"data_offsets", {position, end}}};
    position = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception& error) {
    fail_usage(std::string("safetensors: a name is not UTF-8: ") + error.what());
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data start at a multiple of 8

  std::string bytes;
  bytes.reserve(8 + text.size() + position);
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  bytes += text;
  for (const auto& [name, tensor] : order) {
    bytes.append(reinterpret_cast<const char*>(tensor->bytes()), tensor->size_bytes());
  }
  return bytes;
}

Safetensors read_safetensors(const std::string& path) {
  return parse_safetensors(read_file(path), path);
}

void write_safetensors(const std::string& path, const Safetensors& content) {
  write_file_atomically(path, safetensors_bytes(content));
}

}  // namespace trireme
