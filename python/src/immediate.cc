// Arrays: immediate mode. Runs without the interpreter lock.

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "location.h"
#include "module.h"
#include "read.h"
#include "trireme/array.h"
#include "trireme/error.h"
#include "values.h"

namespace trireme::python {

namespace {

Tensor computed(const HeldArray& held) {
  if (!held.array.is_computed()) {
    const nb::gil_scoped_release unlocked;
    held.array.eval();
  }
  return held.array.tensor();
}

nb::tuple shape_of(const HeldArray& held) {
  std::vector<std::int64_t> shape = held.array.shape();
  nb::list sizes;
  for (const std::int64_t size : shape) sizes.append(size);
  return nb::tuple(sizes);
}

// The memory of the Array, which must not change: other Arrays are computed from it later.
nb::object read_only(const HeldArray& held) {
  nb::object array = array_of(computed(held));
  array.attr("setflags")(nb::arg("write") = false);
  return array;
}

// An Array of an Array, a Tensor of another library, a NumPy array or numbers. Numbers become f32
// or i64.
Array array_from(nb::handle given, bool copy) {
  const HeldArray* held = nullptr;
  if (nb::try_cast(given, held, false) && held != nullptr) return held->array;
  const bool numbers =
      PyFloat_Check(given.ptr()) != 0 || PyLong_Check(given.ptr()) != 0 || is_sequence(given);
  Tensor tensor = tensor_of(given);
  if (numbers && !nb::hasattr(given, "dtype") && tensor.dtype() == DType::f64) {
    return Array(tensor.cast(DType::f32));
  }
  return Array(copy ? tensor.clone() : std::move(tensor));
}

std::vector<Array> elements_of(nb::handle given) {
  std::vector<Array> arrays;
  for (const nb::handle element : given) {
    const HeldArray* held = nullptr;
    if (!nb::try_cast(element, held, false) || held == nullptr) {
      throw Error(ErrorKind::usage, text_of(element) + " is no Array\n  hint   tr.array(x)");
    }
    arrays.push_back(held->array);
  }
  return arrays;
}

nb::list to_list(const std::vector<Array>& arrays) {
  nb::list list;
  for (const Array& array : arrays) list.append(to_python(array));
  return list;
}

// Calls a Python function from code that runs without the interpreter lock. The function and its
// results are kept by the caller.
ArraysFunction function_of(nb::handle function) {
  return [function](const std::vector<Array>& arguments) {
    const nb::gil_scoped_acquire lock;
    return elements_of(function(to_list(arguments)));
  };
}

nb::object value_and_gradients_of(nb::handle function, nb::handle arguments) {
  const std::vector<Array> given = elements_of(arguments);
  const SourceLocation where = caller();
  ValueAndGradients found;
  {
    const nb::gil_scoped_release unlocked;
    found = value_and_gradients(
        [all = function_of(function)](const std::vector<Array>& own) { return all(own).at(0); },
        given, where);
  }
  return nb::make_tuple(to_python(found.value), to_list(found.gradients));
}

// A Jit. It does not keep its function, so that Python's garbage collector sees all that does.
struct HeldJit {
  nb::handle function;  // while it is called
  Jit jit;
  HeldJit()
      : jit([this](const std::vector<Array>& given) { return function_of(function)(given); }) {}
  HeldJit(const HeldJit&) = delete;
  HeldJit& operator=(const HeldJit&) = delete;
};

nb::list call(HeldJit& held, nb::handle function, nb::handle arguments) {
  const std::vector<Array> given = elements_of(arguments);
  std::vector<Array> results;
  held.function = function;
  {
    const nb::gil_scoped_release unlocked;
    results = held.jit(given);
  }
  return to_list(results);
}

template <class T>
void add_range(const Tensor& tensor, std::string& text) {
  double low = INFINITY, high = -INFINITY;
  std::int64_t nan = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const auto value = static_cast<double>(tensor.data<T>()[i]);
    if (std::isnan(value)) ++nan;
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  if (low <= high) {
    nb::object format = nb::str("{:.4g} to {:.4g}").attr("format")(low, high);
    text += ", " + nb::cast<std::string>(format);
  }
  if (nan > 0) text += ", " + std::to_string(nan) + " NaN";
}

// Array(f32[2, 3], -1 to 4.5, 1 NaN): and the elements
std::string description(const HeldArray& held) {
  Tensor tensor;
  try {
    tensor = computed(held);
  } catch (const Error& error) {  // such as an Array of a function that jit() records
    const std::string reason = error.what();
    return "Array(not computed: " + reason.substr(0, reason.find('\n')) + ")";
  }
  std::string text = "Array(" + tensor.type_str();
  const Tensor numbers = tensor.dtype() == DType::bf16 || tensor.dtype() == DType::f16
                             ? tensor.cast(DType::f32)
                             : tensor;
  if (tensor.elements() > 1) {
    switch (numbers.dtype()) {
      case DType::f32: add_range<float>(numbers, text); break;
      case DType::f64: add_range<double>(numbers, text); break;
      case DType::i32: add_range<std::int32_t>(numbers, text); break;
      case DType::i64: add_range<std::int64_t>(numbers, text); break;
      case DType::i8: add_range<std::int8_t>(numbers, text); break;
      case DType::i16: add_range<std::int16_t>(numbers, text); break;
      case DType::u8: add_range<std::uint8_t>(numbers, text); break;
      case DType::u16: add_range<std::uint16_t>(numbers, text); break;
      case DType::u32: add_range<std::uint32_t>(numbers, text); break;
      case DType::u64: add_range<std::uint64_t>(numbers, text); break;
      default: break;
    }
  }
  return text + ")\n" + tensor.str();
}

nb::object single(const HeldArray& held) {
  if (const std::int64_t elements = held.array.elements(); elements != 1) {
    throw Error(ErrorKind::usage, "an Array of " + std::to_string(elements) +
                                      " elements is not one number\n  hint   use any(), all() or "
                                      "an index");
  }
  return read_only(held).attr("item")();
}

void add_conversions(nb::class_<HeldArray, HeldValue>& type) {
  type.def("numpy", read_only, nb::sig("def numpy(self) -> NDArray[Any]"),
           "Computes the Array. Returns its memory as a NumPy array, which cannot be written.")
      .def(
          "__array__",
          [](const HeldArray& held, nb::handle dtype, nb::handle copy) -> nb::object {
            nb::object array = read_only(held);
            if (!dtype.is_none()) {
              return array.attr("astype")(dtype, nb::arg("copy") = copy.is(nb::handle(Py_True)));
            }
            return copy.is(nb::handle(Py_True)) ? nb::object(array.attr("copy")()) : array;
          },
          nb::arg("dtype").none() = nb::none(), nb::arg("copy").none() = nb::none(),
          nb::sig("def __array__(self, dtype: Any = None, copy: bool | None = None) -> "
                  "NDArray[Any]"))
      .def(
          "__dlpack__",
          [](const HeldArray& held, const nb::kwargs&) {
            return nb::object(array_of(computed(held)).attr("__dlpack__")());
          },
          nb::sig("def __dlpack__(self, **options: Any) -> Any"))
      .def(
          "__dlpack_device__", [](const HeldArray&) { return nb::make_tuple(1, 0); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def("item", single, nb::sig("def item(self) -> Any"), "The only element.")
      .def(
          "tolist", [](const HeldArray& held) { return read_only(held).attr("tolist")(); },
          nb::sig("def tolist(self) -> Any"))
      .def("__float__", [](const HeldArray& held) { return nb::cast<double>(single(held)); })
      .def(
          "__int__", [](const HeldArray& held) { return nb::int_(single(held)); },
          nb::sig("def __int__(self) -> int"))
      .def(
          "__index__",
          [](const HeldArray& held) { return nb::int_(single(held).attr("__index__")()); },
          nb::sig("def __index__(self) -> int"))
      .def("__bool__",
           [](const HeldArray& held) { return nb::cast<bool>(nb::bool_(single(held))); })
      .def("__len__", [](const HeldArray& held) {
        const auto shape = held.array.shape();
        if (shape.empty()) throw nb::type_error("an Array without axes has no length");
        return static_cast<std::size_t>(shape[0]);
      });
}

}  // namespace

void add_immediate(nb::module_& m) {
  nb::class_<HeldArray, HeldValue> type(
      m, "Array",
      "Numbers that are computed when they are read. tr.array() makes one of numbers; functions of "
      "Values take Arrays and return Arrays.");
  type.def_prop_ro("dtype", [](const HeldArray& held) { return held.array.dtype(); })
      .def_prop_ro("shape", shape_of, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("ndim", [](const HeldArray& held) { return held.array.rank(); })
      .def_prop_ro("size", [](const HeldArray& held) { return held.array.elements(); })
      .def_prop_ro("is_computed", [](const HeldArray& held) { return held.array.is_computed(); })
      .def(
          "eval",
          [](nb::handle self) {
            computed(nb::cast<const HeldArray&>(self));
            return nb::borrow(self);
          },
          nb::sig("def eval(self) -> Self"), "Computes this Array, and all others that exist.")
      .def("__hash__",
           [](const HeldArray& held) { return std::hash<const void*>()(held.array.node().get()); })
      .def("__str__", [](const HeldArray& held) { return computed(held).str(); })
      .def("__repr__", description);
  type.attr("__array_ufunc__") = nb::none();  // NumPy leaves operators to the Array
  add_conversions(type);
  nb::class_<HeldJit>(m, "Jit")
      .def(nb::init<>())
      .def("__call__", call, nb::arg("function"), nb::arg("arguments"),
           nb::sig("def __call__(self, function: Callable[[list[Array]], list[Array]], arguments: "
                   "Sequence[Array]) -> list[Array]"));
  m.def(
      "array_from", [](nb::handle given, bool copy) { return to_python(array_from(given, copy)); },
      nb::arg("given"), nb::arg("copy"),
      nb::sig("def array_from(given: Any, copy: bool) -> Array"));
  m.def("value_and_gradients", value_and_gradients_of, nb::arg("function"), nb::arg("arguments"),
        nb::sig("def value_and_gradients(function: Callable[[list[Array]], list[Array]], "
                "arguments: Sequence[Array]) -> tuple[Array, list[Array]]"));
  m.def("eval_all", [] {
    const nb::gil_scoped_release unlocked;
    eval_all();
  });
  m.def("set_array_seed", [](std::uint64_t seed) { set_array_seed(seed); });
  m.def(
      "array_statistics",
      [] {
        const ArrayStatistics statistics = array_statistics();
        nb::dict made;
        made["compiled"] = statistics.compiled;
        made["runs"] = statistics.runs;
        made["kernels"] = statistics.kernels;
        return made;
      },
      nb::sig("def array_statistics() -> dict[str, int]"));
}

}  // namespace trireme::python
