#include "shapes.h"

#include "trireme/error.h"

namespace trireme::python {

Shape shape_of(const std::vector<PyDim>& dims) {
  Shape shape;
  for (const PyDim& dim : dims) {
    if (const auto* size = std::get_if<std::int64_t>(&dim)) {
      shape.emplace_back(*size);
      continue;
    }
    const auto& text = std::get<std::string>(dim);
    const std::optional<Dim> parsed = Dim::parse(text);
    if (!parsed) {
      throw Error(ErrorKind::usage, "\"" + text +
                                        "\" is no dimension\n  hint   give a size, or the "
                                        "name of a symbol such as \"batch\"");
    }
    shape.push_back(*parsed);
  }
  return shape;
}

std::vector<PyDim> dims_of(const Shape& shape) {
  std::vector<PyDim> dims;
  for (const Dim& dim : shape) {
    if (dim.is_constant()) dims.emplace_back(dim.constant());
    else dims.emplace_back(dim.str());
  }
  return dims;
}

}  // namespace trireme::python
