// Methods of Values and Arrays: indexing, products, and functions of the module ops.

#include "methods.h"

#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "location.h"
#include "read.h"
#include "trireme/error.h"
#include "trireme/indexing.h"
#include "trireme/linalg.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::python {

namespace {

bool is_index_array(nb::handle given) {
  return is_sequence(given) || nb::hasattr(given, "__array_interface__");
}

IndexItem item_of(nb::handle given) {
  std::int64_t index = 0;
  Value value;
  if (given.is_none()) return newaxis;
  if (given.is(nb::handle(Py_Ellipsis))) return ellipsis;
  if (read(given, value)) return value;  // before numbers, which Arrays become, too
  if (PyBool_Check(given.ptr()) == 0 && read(given, index)) return index;
  if (PySlice_Check(given.ptr()) != 0) {
    const auto end = [&](const char* name) -> std::optional<Dim> {
      const nb::object found = given.attr(name);
      Dim dim;
      if (found.is_none()) return std::nullopt;
      if (read(found, dim)) return dim;
      throw Error(ErrorKind::usage, "index: " + std::string(name) + " is " + text_of(found) +
                                        ", must be an integer or the name of a dimension");
    };
    IndexRange range{end("start"), end("stop")};
    if (const nb::object step = given.attr("step"); !step.is_none() && !read(step, range.step)) {
      throw Error(ErrorKind::usage, "index: the step is " + text_of(step));
    }
    return range;
  }
  if (is_index_array(given)) return Array(tensor_of(given)).value();
  throw Error(ErrorKind::usage,
              "index: " + text_of(given) +
                  " selects nothing\n  hint   use integers, ranges, None, ..., or integers in a "
                  "Value or an array");
}

// A product of vectors has matrices of one row or one column.
Value matrix_product(const Value& a, const Value& b, const SourceLocation& where) {
  const auto with_axis = [&](const Value& x, std::size_t place) {
    if (x.rank() != 1) return x;
    Shape shape = x.shape();
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(place), Dim(1));
    return reshape(x, ReshapeAttrs{.shape = shape}, where);
  };
  const Value left = with_axis(a, 0), right = with_axis(b, 1);
  const Value result = left.rank() == 2 && right.rank() == 2 ? matmul(left, right, {}, where)
                                                             : broadcast_matmul(left, right, where);
  if (a.rank() != 1 && b.rank() != 1) return result;
  Shape shape = result.shape();
  if (b.rank() == 1) shape.pop_back();
  if (a.rank() == 1) shape.erase(shape.end() - (b.rank() == 1 ? 1 : 2));
  return reshape(result, ReshapeAttrs{.shape = shape}, where);
}

nb::object multiply(nb::handle a, nb::handle b) {
  const KeepRecording kept;
  Value left, right;
  // Python then tries the operator of the other object, and raises TypeError if it has none.
  if (!read(a, left) || !read(b, right)) return nb::borrow(Py_NotImplemented);
  return to_python(matrix_product(left, right, caller()));
}

// The arguments of x.reshape(2, 3) and x.reshape((2, 3)).
nb::object one_or_all(const nb::args& given) {
  if (given.size() == 1) return given[0];
  return nb::borrow(given);
}

nb::object reshaped(nb::handle self, const nb::args& sizes) {
  const KeepRecording kept;
  Value x;
  Shape shape;
  if (!read(self, x) || !read(one_or_all(sizes), shape)) {
    throw Error(ErrorKind::usage, "reshape: the shape is " + text_of(one_or_all(sizes)));
  }
  return to_python(reshape_to(x, shape, caller()));
}

nb::object transposed(nb::handle self, const nb::args& axes) {
  const KeepRecording kept;
  Value x;
  std::vector<std::int64_t> permutation;
  if (!read(self, x) || (axes.size() > 0 && !read(one_or_all(axes), permutation))) {
    throw Error(ErrorKind::usage, "transpose: the axes are " + text_of(one_or_all(axes)));
  }
  if (axes.size() == 0) {
    for (int axis = x.rank(); axis > 0; --axis) permutation.push_back(axis - 1);
  }
  return to_python(transpose(x, TransposeAttrs{.permutation = permutation}, caller()));
}

// Without it, Python would ask for x[0], x[1] ... without an end.
nb::iterator rows_of(nb::handle self) {
  Value x;
  if (!read(self, x) || x.rank() == 0 || !x.dim(0).is_constant()) {
    throw Error(ErrorKind::usage, "iteration over " + text_of(self) +
                                      ", whose number of rows is not known\n  hint   use scan(), "
                                      "or functions of whole Values");
  }
  nb::list rows;
  for (std::int64_t i = 0; i < x.dim(0).constant(); ++i) rows.append(self[nb::int_(i)]);
  return nb::iter(rows);
}

struct Method {
  const char* name;
  const char* function;  // in trireme.ops
  const char* arguments;
};
constexpr const char* kAxes = "axis: int | Sequence[int] | None = None, *, keepdims: bool = False";
constexpr Method kMethods[] = {
    {"sum", "sum", kAxes},
    {"mean", "mean", kAxes},
    {"prod", "prod", kAxes},
    {"any", "any", kAxes},
    {"all", "all", kAxes},
    {"max", "reduce_max", kAxes},
    {"min", "reduce_min", kAxes},
    {"argmax", "argmax", kAxes},
    {"argmin", "argmin", kAxes},
    {"cumsum", "cumsum", "axis: int"},
    {"astype", "cast", "dtype: DType | str"},
    {"squeeze", "squeeze", "axis: int"},
    {"__abs__", "abs", ""},
    {"__floordiv__", "floor_divide", "other: Value | float, /"},
};

}  // namespace

nb::object index_of(nb::handle self, nb::handle items) {
  const KeepRecording kept;
  Value x;
  if (!read(self, x)) throw Error(ErrorKind::usage, "index: " + text_of(self) + " is no Value");
  std::vector<IndexItem> list;
  if (nb::isinstance<nb::tuple>(items)) {
    for (const nb::handle item : items) list.push_back(item_of(item));
  } else {
    list.push_back(item_of(items));
  }
  return to_python(index(x, list, caller()));
}

void add_methods(nb::class_<HeldValue>& type) {
  for (const Method& method : kMethods) {
    const std::string signature = "def " + std::string(method.name) + "(self" +
                                  (*method.arguments == '\0' ? "" : ", ") + method.arguments +
                                  ") -> Self";
    type.def(
        method.name,
        [function = method.function](nb::handle self, const nb::args& args,
                                     const nb::kwargs& kwargs) {
          return nb::module_::import_("trireme._made.ops").attr(function)(self, *args, **kwargs);
        },
        nb::sig(signature.c_str()));
  }
  type.def("__iter__", rows_of, nb::sig("def __iter__(self) -> Iterator[Self]"))
      .def("reshape", reshaped, nb::sig("def reshape(self, *shape: Any) -> Self"),
           "The same elements in another shape; one size may be -1.")
      .def("transpose", transposed, nb::sig("def transpose(self, *axes: Any) -> Self"),
           "The axes in another order; without arguments, in the opposite one.")
      .def_prop_ro(
          "T", [](nb::handle self) { return transposed(self, nb::args()); },
          nb::sig("def T(self) -> Self"))
      .def(
          "__matmul__", [](nb::handle a, nb::handle b) { return multiply(a, b); },
          nb::sig("def __matmul__(self, other: Value, /) -> Self"))
      .def(
          "__rmatmul__", [](nb::handle a, nb::handle b) { return multiply(b, a); },
          nb::sig("def __rmatmul__(self, other: Value, /) -> Self"));
}

}  // namespace trireme::python
