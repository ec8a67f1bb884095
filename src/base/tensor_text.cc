// Tensor::str(): nested brackets, columns aligned, long axes shortened in the middle.
#include <fmt/core.h>

#include "base/half.h"
#include "trireme/tensor.h"

namespace trireme {
namespace {

template <class Half>
std::string half_text(const Tensor& tensor, std::int64_t i) {
  return fmt::format("{:.5g}", to_float(reinterpret_cast<const Half*>(tensor.bytes())[i]));
}

std::string element_text(const Tensor& tensor, std::int64_t i) {
  switch (tensor.dtype()) {
    case DType::boolean: return tensor.data<bool>()[i] ? "true" : "false";
    case DType::u8: return std::to_string(tensor.data<std::uint8_t>()[i]);
    case DType::i8: return std::to_string(tensor.data<std::int8_t>()[i]);
    case DType::i16: return std::to_string(tensor.data<std::int16_t>()[i]);
    case DType::u16: return std::to_string(tensor.data<std::uint16_t>()[i]);
    case DType::u32: return std::to_string(tensor.data<std::uint32_t>()[i]);
    case DType::u64: return std::to_string(tensor.data<std::uint64_t>()[i]);
    case DType::i32: return std::to_string(tensor.data<std::int32_t>()[i]);
    case DType::i64: return std::to_string(tensor.data<std::int64_t>()[i]);
    case DType::f32: return fmt::format("{:.5g}", tensor.data<float>()[i]);
    case DType::f64: return fmt::format("{:.5g}", tensor.data<double>()[i]);
    case DType::bf16: return half_text<Bf16>(tensor, i);
    case DType::f16: return half_text<F16>(tensor, i);
  }
  return "?";
}

class Printer {
 public:
  Printer(const Tensor& tensor, int edge_items) : tensor_(tensor), edge_(edge_items) {}

  std::string print() {
    if (tensor_.rank() == 0) return element_text(tensor_, 0);
    visit(0, 0,
          [&](std::int64_t i) { width_ = std::max(width_, element_text(tensor_, i).size()); });
    text_.clear();
    visit(0, 0, [&](std::int64_t i) {
      text_ += fmt::format("{:>{}}", element_text(tensor_, i), width_);
    });
    return text_;
  }

 private:
  // Walks axis `axis` of the part that starts at element `offset`, writing brackets to text_ and
  // giving each element that is shown to `leaf`.
  template <class Leaf>
  void visit(int axis, std::int64_t offset, const Leaf& leaf) {
    const std::int64_t size = tensor_.dim(axis);
    const bool last = axis + 1 == tensor_.rank();
    std::int64_t stride = 1;
    for (int a = axis + 1; a < tensor_.rank(); ++a) stride *= tensor_.dim(a);
    const std::string separator =
        last ? ", "
             : "," + std::string(static_cast<std::size_t>(tensor_.rank() - axis - 1), '\n') +
                   std::string(static_cast<std::size_t>(axis) + 1, ' ');
    const bool shortened = size > 2 * edge_ + 1;
    text_ += '[';
    for (std::int64_t i = 0; i < size; ++i) {
      if (i > 0) text_ += separator;
      if (shortened && i == edge_) {
        text_ += "...";
        i = size - edge_ - 1;
      } else if (last) {
        leaf(offset + i);
      } else {
        visit(axis + 1, offset + i * stride, leaf);
      }
    }
    text_ += ']';
  }

  const Tensor& tensor_;
  std::int64_t edge_;
  std::size_t width_ = 0;
  std::string text_;
};

}  // namespace

std::string Tensor::str(int edge_items) const { return Printer(*this, edge_items).print(); }

}  // namespace trireme
