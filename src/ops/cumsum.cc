#include "ops/flops.h"
#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> cumsum_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  require(is(x.dtype, Numbers::common), "cumsum needs a numeric dtype, not " + c.operand_texts[0],
          "cast it first");
  axis_of(c.attributes, x.rank());
  return {x};
}

void cumsum_reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  const std::size_t axis = axis_of(r.op.attributes, static_cast<int>(x.shape.size()));
  const bool exclusive = get_attribute<bool>(r.op.attributes, "exclusive");
  const bool reverse = get_attribute<bool>(r.op.attributes, "reverse");
  for_each_index(x.shape, [&](const Index& index) {
    Index other = index;
    double& total = at(*r.results[0], index);
    for (other[axis] = 0; other[axis] < x.shape[axis]; ++other[axis]) {
      const bool before = reverse ? other[axis] > index[axis] : other[axis] < index[axis];
      if (before || (!exclusive && other[axis] == index[axis])) total += at(x, other);
    }
  });
}

Sample cumsum_sample(std::vector<std::int64_t> shape, std::int64_t axis, bool exclusive,
                     bool reverse, DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(shape), dtype)};
  s.attributes = {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}};
  if (is_integer(dtype)) s.low = 0, s.high = 9;
  return s;
}

}  // namespace

Op cumsum() {
  Op op("cumsum(x; axis: int = -1, exclusive: bool = false, reverse: bool = false)");
  op.doc =
      "The cumulative sum along `axis`.\n"
      "Each element becomes the sum of the elements up to it, including itself unless "
      "`exclusive`.\n"
      "With `reverse`, it is the sum of the elements from it to the end.\n"
      "Floats are summed in f64; integers wrap.";
  op.traits = Trait::library | Trait::counts;
  op.flops = flop_per_element_of(0);
  op.type = cumsum_type;
  op.row_wise = along_other_axes;
  op.mixed_axes = axes_of_attributes;
  op.library_kernel = "cumsum";
  op.reference = cumsum_reference;
  op.gradient = [](GradientContext& c) {
    const Attributes& a = c.op().attributes;
    c.accumulate(0, cumsum(c.gradient(), {.axis = get_attribute<std::int64_t>(a, "axis"),
                                          .exclusive = get_attribute<bool>(a, "exclusive"),
                                          .reverse = !get_attribute<bool>(a, "reverse")}));
  };
  op.torch_reference =
      "(lambda turn: turn((lambda a: torch.cumsum(a, axis) - (a if exclusive else 0))(turn(x[0]))))"
      "(lambda a: torch.flip(a, [axis]) if reverse else a)";
  op.samples = {cumsum_sample({5, 37}, -1, false, false),
                cumsum_sample({5, 37}, 0, true, false),
                cumsum_sample({3, 4, 5}, 1, false, true),
                cumsum_sample({3, 4, 5}, -3, true, true),
                cumsum_sample({1}, 0, true, false),
                cumsum_sample({0, 3}, 1, false, false),
                cumsum_sample({3, 0}, 1, true, true),
                cumsum_sample({4, 9}, 0, false, true, DType::i64),
                cumsum_sample({19}, 0, true, false, DType::i32),
                cumsum_sample({9}, 0, false, false, DType::u8)};
  return op;
}

}  // namespace trireme::ops
