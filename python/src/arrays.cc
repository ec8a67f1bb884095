// Tensors and NumPy arrays share memory, both ways.

#include "arrays.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <vector>

#include "module.h"
#include "trireme/error.h"

namespace trireme::python {

namespace {

using NumpyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// The DType of an array's elements. Errors: usage.
DType dtype_of_array(const NumpyArray& array) {
  const nb::dlpack::dtype type = array.dtype();
  const auto is = [&](nb::dlpack::dtype_code code, int bits) {
    return type.code == static_cast<std::uint8_t>(code) && type.bits == bits && type.lanes == 1;
  };
  using Code = nb::dlpack::dtype_code;
  if (is(Code::Bool, 8)) return boolean;
  if (is(Code::UInt, 8)) return u8;
  if (is(Code::UInt, 16)) return u16;
  if (is(Code::UInt, 32)) return u32;
  if (is(Code::UInt, 64)) return u64;
  if (is(Code::Int, 8)) return i8;
  if (is(Code::Int, 16)) return i16;
  if (is(Code::Int, 32)) return i32;
  if (is(Code::Int, 64)) return i64;
  if (is(Code::Float, 32)) return f32;
  if (is(Code::Float, 64)) return f64;
  if (is(Code::Float, 16)) return f16;
  if (is(Code::Bfloat, 16)) return bf16;
  throw Error(ErrorKind::usage,
              "an array has elements of a type that Trireme lacks\n  hint   convert it: "
              "array.astype(\"float32\")");
}

nb::dlpack::dtype array_dtype(DType dtype) {
  const auto make = [&](nb::dlpack::dtype_code code) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code),
                             static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
  };
  using Code = nb::dlpack::dtype_code;
  switch (dtype) {
    case DType::boolean: return make(Code::Bool);
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64: return make(Code::UInt);
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64: return make(Code::Int);
    case DType::bf16: return make(Code::UInt);  // the bits, of which array_of() makes a view
    case DType::f32:
    case DType::f64:
    case DType::f16: break;
  }
  return make(Code::Float);
}

// Keeps a Python object. The thread that drops it last may not hold the interpreter lock, and may
// outlive the interpreter, as the thread's Arrays do.
std::shared_ptr<const void> keep(NumpyArray array) {
  return std::shared_ptr<const void>(new NumpyArray(std::move(array)), [](const void* kept) {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire lock;
    delete static_cast<const NumpyArray*>(kept);
  });
}

[[noreturn]] void fail_object(const nb::handle& object, const std::string& reason) {
  throw Error(ErrorKind::usage, "cannot make a Tensor of " +
                                    nb::cast<std::string>(nb::repr(object.type())) + ": " + reason +
                                    "\n  hint   give a NumPy array of numbers");
}

// A contiguous NumPy array in the byte order of the machine. Errors: usage.
nb::object as_numpy(const nb::handle& object) {
  try {
    nb::object array = nb::module_::import_("numpy").attr("require")(object, nb::none(), "CA");
    if (nb::cast<bool>(array.attr("dtype").attr("isnative"))) return array;
    return array.attr("astype")(array.attr("dtype").attr("newbyteorder")("="));
  } catch (const nb::python_error& error) {
    fail_object(object, nb::cast<std::string>(nb::str(error.value())));
  }
}

Tensor tensor_of_memory(DType dtype, NumpyArray array) {
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    shape.push_back(static_cast<std::int64_t>(array.shape(i)));
  }
  void* data = const_cast<void*>(array.data());
  return Tensor::from_external(dtype, std::move(shape), data, keep(std::move(array)));
}

// The dtype bfloat16 of the package ml_dtypes, which NumPy lacks. Errors: usage.
nb::object bfloat16() {
  try {
    return nb::module_::import_("ml_dtypes").attr("bfloat16");
  } catch (const nb::python_error&) {
    throw Error(ErrorKind::usage,
                "arrays of bf16 need the package ml_dtypes\n  hint   pip install ml_dtypes");
  }
}

// NumPy exports arrays of ml_dtypes neither as buffers nor by DLPack.
bool is_bfloat16(const nb::handle& object) {
  if (!nb::hasattr(object, "view") || !nb::hasattr(object, "dtype")) return false;
  const nb::object dtype = object.attr("dtype");
  return nb::hasattr(dtype, "name") && nb::hasattr(dtype, "itemsize") &&
         nb::cast<std::string>(nb::str(dtype.attr("name"))) == "bfloat16";
}

}  // namespace

Tensor tensor_of(const nb::handle& object) {
  if (is_bfloat16(object)) {
    const nb::object numpy = nb::module_::import_("numpy");
    const nb::object bits = numpy.attr("require")(object, nb::none(), "CA").attr("view")("uint16");
    const auto array = nb::cast<NumpyArray>(bits);
    return tensor_of_memory(bf16, array);
  }
  NumpyArray array;
  if (!nb::try_cast(nb::borrow(object), array, false) &&
      !nb::try_cast(as_numpy(object), array, false)) {
    fail_object(object, "its elements are no numbers");
  }
  return tensor_of_memory(dtype_of_array(array), array);
}

nb::object array_of(const Tensor& tensor) {
  auto* kept = new Tensor(tensor);
  const nb::capsule owner(kept, [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  const std::vector<std::size_t> shape(tensor.shape().begin(), tensor.shape().end());
  nb::ndarray<nb::numpy> array(kept->bytes(), shape.size(), shape.data(), owner, nullptr,
                               array_dtype(tensor.dtype()));
  return tensor.dtype() == bf16 ? array.cast().attr("view")(bfloat16()) : array.cast();
}

void add_arrays(nb::module_& m) {
  nb::enum_<DType> dtypes(m, "DType", "The type of the elements of an array.");
  for (const DTypeInfo& info : kDTypes) {
    dtypes.value(info.name.data(), info.dtype);
  }
  dtypes.export_values();
}

}  // namespace trireme::python
