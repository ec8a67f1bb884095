#include "trireme/shorthand.h"

#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "nn/axes.h"

namespace trireme {

Value reshape_to(const Value& x, const Shape& shape, SourceLocation where) {
  const nn::LocationScope at(x, "reshape", where);
  Shape inferred = shape;
  Dim known = 1;
  Dim* unknown = nullptr;
  for (Dim& size : inferred) {
    if (size != Dim(-1)) {
      known = known * size;
    } else if (unknown != nullptr) {
      nn::fail_layer("reshape", "more than one size of " + str(shape) + " is -1", "", x);
    } else {
      unknown = &size;
    }
  }
  if (unknown == nullptr) return reshape(x, ReshapeAttrs{.shape = inferred});
  const auto quotient =
      known == Dim(0) ? std::optional<Dim>() : product(x.shape()).divided_by(known);
  if (!quotient) {
    nn::fail_layer("reshape",
                   "the size -1 of " + str(shape) + " is not known: " + product(x.shape()).str() +
                       " elements are not a multiple of " + known.str(),
                   "use the symbols of x in the new shape", x);
  }
  *unknown = *quotient;
  return reshape(x, ReshapeAttrs{.shape = inferred});
}

Value swap_axes(const Value& x, int a, int b, SourceLocation where) {
  const nn::LocationScope at(x, "swap_axes", where);
  std::vector<std::int64_t> permutation(x.shape().size());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[nn::axis_in("swap_axes", x, a)],
            permutation[nn::axis_in("swap_axes", x, b)]);
  return transpose(x, {.permutation = permutation});
}

Value full_like(const Value& x, double number, SourceLocation where) {
  const nn::LocationScope at(x, "full_like", where);
  return Value(at.builder().constant({x.dtype(), x.shape(), ""}, number));
}

}  // namespace trireme
