#include "codegen/testing/harness.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/half.h"

namespace trireme::codegen::testing {
namespace {

constexpr std::size_t kBorder = 128;  // bytes
constexpr std::uint8_t kBorderByte = 0xa5;

template <class T>
void put(std::uint8_t* bytes, std::int64_t index, T value) {
  std::memcpy(bytes + static_cast<std::size_t>(index) * sizeof(T), &value, sizeof(T));
}

template <class T>
T get(const std::uint8_t* bytes, std::int64_t index) {
  T value;
  std::memcpy(&value, bytes + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <class T>
T random_float(std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  switch (random() % 64) {
    case 0: return T(0);
    case 1: return -T(0);
    case 2: return Limits::infinity();
    case 3: return -Limits::infinity();
    case 4: return Limits::quiet_NaN();
    case 5: return Limits::denorm_min() * T(random() % 1000);
    case 6: return T(random() % 1000000) * T(1000);
    default: return static_cast<T>(static_cast<double>(random() % 16001) / 2000 - 4);
  }
}

void fill(DType type, std::uint8_t* bytes, std::int64_t n, std::mt19937_64& random) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto small = static_cast<std::int64_t>(random() % 41) - 20;
    switch (type) {
      case DType::boolean: put(bytes, i, static_cast<std::uint8_t>(random() % 2)); break;
      case DType::i8:
      case DType::u8: put(bytes, i, static_cast<std::uint8_t>(random())); break;
      case DType::i16:
      case DType::u16: put(bytes, i, static_cast<std::uint16_t>(random())); break;
      case DType::u32:
        put(bytes, i, static_cast<std::uint32_t>(random() % 8 ? small : random()));
        break;
      case DType::u64:
        put(bytes, i, random() % 8 ? static_cast<std::uint64_t>(small) : random());
        break;
      case DType::i32:
        put(bytes, i, static_cast<std::int32_t>(random() % 8 ? small : INT32_MIN));
        break;
      case DType::i64: put(bytes, i, random() % 8 ? small : INT64_MIN); break;
      case DType::f32: put(bytes, i, random_float<float>(random)); break;
      case DType::f64: put(bytes, i, random_float<double>(random)); break;
      case DType::bf16:
      case DType::f16: put(bytes, i, static_cast<std::uint16_t>(random())); break;
    }
  }
}

float half(DType type, const std::uint8_t* bytes, std::int64_t i) {
  return type == DType::bf16 ? to_float(get<Bf16>(bytes, i)) : to_float(get<F16>(bytes, i));
}

bool equal(DType type, const std::uint8_t* a, const std::uint8_t* b, std::int64_t i) {
  if (type == DType::f32 && std::isnan(get<float>(a, i))) return std::isnan(get<float>(b, i));
  if (type == DType::f64 && std::isnan(get<double>(a, i))) return std::isnan(get<double>(b, i));
  if (is_half(type) && std::isnan(half(type, a, i))) return std::isnan(half(type, b, i));
  const std::size_t size = size_of(type);
  const std::size_t offset = static_cast<std::size_t>(i) * size;
  return std::memcmp(a + offset, b + offset, size) == 0;
}

std::string text(DType type, const std::uint8_t* bytes, std::int64_t i) {
  switch (type) {
    case DType::boolean:
    case DType::u8: return std::to_string(get<std::uint8_t>(bytes, i));
    case DType::i8: return std::to_string(get<std::int8_t>(bytes, i));
    case DType::i16: return std::to_string(get<std::int16_t>(bytes, i));
    case DType::u16: return std::to_string(get<std::uint16_t>(bytes, i));
    case DType::u32: return std::to_string(get<std::uint32_t>(bytes, i));
    case DType::u64: return std::to_string(get<std::uint64_t>(bytes, i));
    case DType::i32: return std::to_string(get<std::int32_t>(bytes, i));
    case DType::i64: return std::to_string(get<std::int64_t>(bytes, i));
    case DType::f32: return std::to_string(get<float>(bytes, i));
    case DType::f64: return std::to_string(get<double>(bytes, i));
    case DType::bf16:
    case DType::f16: return std::to_string(half(type, bytes, i));
  }
  return "";
}

}  // namespace

Memory::Memory(const kernel_ir::Kernel& kernel, std::vector<std::int64_t> elements,
               std::uint64_t seed)
    : buffers_(kernel.buffers), elements_(std::move(elements)) {
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const std::size_t size = static_cast<std::size_t>(elements_[i]) * size_of(buffers_[i].type);
    bytes_.emplace_back(size + 2 * kBorder, kBorderByte);
    fill(buffers_[i].type, bytes_.back().data() + kBorder, elements_[i], random);
  }
}

void* Memory::data(std::size_t buffer) { return bytes_[buffer].data() + kBorder; }

std::vector<void*> Memory::pointers() {
  std::vector<void*> result;
  for (std::size_t i = 0; i < bytes_.size(); ++i) result.push_back(data(i));
  return result;
}

std::string Memory::difference(const Memory& other) const {
  for (std::size_t b = 0; b < bytes_.size(); ++b) {
    const std::vector<std::uint8_t>& mine = bytes_[b];
    const std::vector<std::uint8_t>& yours = other.bytes_[b];
    const std::string where = "buffer " + std::to_string(b) + " (" + buffers_[b].name + ")";
    for (std::size_t i = 0; i < kBorder; ++i) {
      for (const auto* bytes : {&mine, &yours}) {
        if ((*bytes)[i] != kBorderByte || (*bytes)[bytes->size() - 1 - i] != kBorderByte) {
          return where + ": written outside";
        }
      }
    }
    if (buffers_[b].role == kernel_ir::BufferRole::scratch) continue;
    for (std::int64_t i = 0; i < elements_[b]; ++i) {
      const std::uint8_t* x = mine.data() + kBorder;
      const std::uint8_t* y = yours.data() + kBorder;
      if (!equal(buffers_[b].type, x, y, i)) {
        return where + " element " + std::to_string(i) + ": " + text(buffers_[b].type, x, i) +
               " against " + text(buffers_[b].type, y, i);
      }
    }
  }
  return "";
}

std::vector<Target> runnable_targets() {
  const Target host = host_target();
  std::vector<Target> targets{host};
  if (host.triple.rfind("x86_64", 0) != 0) return targets;
  Target old = host;
  if (host.vector_bytes == 64) {
    old.cpu = "haswell";
    old.features = "";
    old.vector_bytes = 32;
    targets.push_back(old);
    if (host.features.find("+avxvnni,") != std::string::npos) {
      Target with_dot_products = old;
      with_dot_products.features = "+avxvnni";
      targets.push_back(with_dot_products);
    }
  }
  old.cpu = "x86-64";
  old.features = "";
  old.vector_bytes = 16;
  targets.push_back(old);
  return targets;
}

Comparison::Comparison(kernel_ir::Kernel kernel) : kernel_(std::move(kernel)) {
  oracle_ = make_interpreter()->compile({&kernel_})[0];
  for (const Target& target : runnable_targets()) {
    compiled_.push_back(make_llvm_codegen({.target = target})->compile({&kernel_})[0]);
    names_.push_back(target.cpu);
  }
}

std::string Comparison::run(const std::vector<std::int64_t>& sizes,
                            const std::vector<std::int64_t>& elements, std::int64_t end,
                            std::uint64_t seed, const std::function<void(Memory&)>& prepare) {
  Memory start(kernel_, elements, seed);
  if (prepare) prepare(start);
  Memory expected = start;
  oracle_->run(expected.pointers().data(), sizes.data(), 0, end);
  for (std::size_t i = 0; i < compiled_.size(); ++i) {
    Memory whole = start;
    compiled_[i]->run(whole.pointers().data(), sizes.data(), 0, end);
    std::string difference = expected.difference(whole);
    if (!difference.empty()) return names_[i] + ": " + difference;

    Memory pieces = start;
    const std::int64_t middle = end / 3;
    compiled_[i]->run(pieces.pointers().data(), sizes.data(), middle, end);
    compiled_[i]->run(pieces.pointers().data(), sizes.data(), 0, middle);
    compiled_[i]->run(pieces.pointers().data(), sizes.data(), middle, middle);
    difference = expected.difference(pieces);
    if (!difference.empty()) return names_[i] + " in pieces: " + difference;
  }
  return "";
}

}  // namespace trireme::codegen::testing
