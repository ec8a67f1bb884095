#include "read.h"

#include <array>
#include <limits>
#include <optional>
#include <unordered_map>

#include "arguments.h"
#include "arrays.h"
#include "location.h"
#include "trireme/error.h"
#include "values.h"

namespace trireme::python {

namespace {

[[noreturn]] void fail(const std::string& message, const std::string& hint) {
  throw Error(ErrorKind::usage, message + "\n  hint   " + hint);
}

// The integer of an object with __index__: an int, or an integer of NumPy. Empty for others.
std::optional<nb::object> index_of(nb::handle given) {
  if (!PyIndex_Check(given.ptr())) return std::nullopt;
  PyObject* integer = PyNumber_Index(given.ptr());
  if (integer == nullptr) PyErr_Clear();  // such as an array of several elements
  if (integer == nullptr) return std::nullopt;
  return nb::steal(integer);
}

// Elements of a sequence; empty if an element is of another type.
template <class T>
bool read_all(nb::handle given, std::vector<T>& values) {
  if (!is_sequence(given)) return false;
  std::vector<T> read_values;
  for (const nb::handle element : given) {
    T value{};
    if (!read(element, value)) return false;
    read_values.push_back(std::move(value));
  }
  values = std::move(read_values);
  return true;
}

// One number for all, or `count` numbers. Empty for anything else.
template <std::size_t N>
std::optional<std::array<std::int64_t, N>> sizes_of(nb::handle given) {
  std::array<std::int64_t, N> sizes{};
  std::int64_t one = 0;
  if (read(given, one)) {
    sizes.fill(one);
    return sizes;
  }
  std::vector<std::int64_t> several;
  if (!is_sequence(given) || !read_all(given, several) || several.size() != N) return std::nullopt;
  std::copy(several.begin(), several.end(), sizes.begin());
  return sizes;
}

// The Value of an argument that C++ calls back with; empty if it is none.
template <class T>
bool read_cast(nb::handle given, T& value) {
  return nb::try_cast(given, value, false);
}

nn::Activation activation_of(nb::object function) {
  return [function = std::move(function)](const Value& x, SourceLocation) {
    Value result;
    if (!read(function(to_python(x)), result)) {
      fail("an activation returned no Value", "write a function of a Value that returns a Value");
    }
    return result;
  };
}

// All objects of Values. The interpreter lock guards it.
std::unordered_map<const ir::Value*, HeldValue*>& held_values() {
  static std::unordered_map<const ir::Value*, HeldValue*> all;
  return all;
}

}  // namespace

HeldValue::~HeldValue() {
  if (value_) held_values().erase(value_.get());
}

// The repr of an Array would compute it.
std::string whole_text_of(nb::handle given) {
  const HeldValue* held = nullptr;
  if (read_cast(given, held) && held != nullptr) return type_text(given);
  if (!nb::isinstance<nb::list>(given) && !nb::isinstance<nb::tuple>(given)) {
    return nb::cast<std::string>(nb::repr(given));
  }
  std::string text;
  for (const nb::handle element : given) {
    text += (text.empty() ? "" : ", ") + text_of(element);
  }
  return nb::isinstance<nb::list>(given) ? "[" + text + "]" : "(" + text + ")";
}

std::string text_of(nb::handle given) {
  std::string text = whole_text_of(given);
  constexpr std::size_t kLongest = 60;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

bool is_sequence(nb::handle given) {
  const HeldValue* held = nullptr;  // has indices, but is one object
  return PySequence_Check(given.ptr()) == 1 && !read_cast(given, held) &&
         !PyUnicode_Check(given.ptr()) && !PyBytes_Check(given.ptr()) && !PyDict_Check(given.ptr());
}

bool is_tuple(nb::handle given, std::size_t size) {
  return is_sequence(given) && nb::len(given) == size;
}

bool read(nb::handle given, bool& value) {
  if (PyBool_Check(given.ptr())) {
    value = given.ptr() == Py_True;
    return true;
  }
  // numpy.bool_ is no bool, and all other numbers are probably errors.
  if (nb::cast<std::string>(given.type().attr("__name__")).starts_with("bool")) {
    value = PyObject_IsTrue(given.ptr()) == 1;
    return true;
  }
  return false;
}

bool read(nb::handle given, std::int64_t& value) {
  const std::optional<nb::object> integer = index_of(given);
  if (!integer) return false;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(integer->ptr(), &overflow);
  if (overflow != 0) {
    fail(text_of(given) + " does not fit into 64 bits", "give an integer between -2^63 and 2^63");
  }
  value = number;
  return true;
}

bool read(nb::handle given, int& value) {
  std::int64_t wide = 0;
  if (!read(given, wide)) return false;
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    fail(text_of(given) + " does not fit into 32 bits", "give an integer between -2^31 and 2^31");
  }
  value = static_cast<int>(wide);
  return true;
}

bool read(nb::handle given, std::uint64_t& value) {
  std::int64_t number = 0;
  if (!read(given, number)) return false;
  if (number < 0) fail(text_of(given) + " is negative", "give an integer of at least 0");
  value = static_cast<std::uint64_t>(number);
  return true;
}

bool read(nb::handle given, double& value) {
  if (!PyFloat_Check(given.ptr()) && !PyIndex_Check(given.ptr()) &&
      !(nb::hasattr(given, "__float__") && nb::hasattr(given, "dtype"))) {
    return false;
  }
  value = PyFloat_AsDouble(given.ptr());
  const bool is_number = PyErr_Occurred() == nullptr;
  PyErr_Clear();
  return is_number;
}

bool read(nb::handle given, std::string& value) {
  if (PyUnicode_Check(given.ptr())) {
    value = nb::cast<std::string>(given);
    return true;
  }
  if (!nb::hasattr(given, "__fspath__")) return false;
  value = nb::cast<std::string>(nb::str(given.attr("__fspath__")()));
  return true;
}

bool read(nb::handle given, DType& value) {
  if (read_cast(given, value)) return true;
  std::string name;
  if (!read(given, name)) {
    if (!nb::hasattr(given, "name")) return false;  // numpy.dtype("float32").name
    name = nb::cast<std::string>(nb::str(given.attr("name")));
  }
  const std::array<std::pair<const char*, DType>, 13> numpy = {{{"bool", DType::boolean},
                                                                {"uint8", DType::u8},
                                                                {"int8", DType::i8},
                                                                {"int16", DType::i16},
                                                                {"uint16", DType::u16},
                                                                {"uint32", DType::u32},
                                                                {"uint64", DType::u64},
                                                                {"int32", DType::i32},
                                                                {"int64", DType::i64},
                                                                {"float16", DType::f16},
                                                                {"bfloat16", DType::bf16},
                                                                {"float32", DType::f32},
                                                                {"float64", DType::f64}}};
  for (const auto& [word, dtype] : numpy) {
    if (name == word) {
      value = dtype;
      return true;
    }
  }
  if (parse_dtype(name, &value)) return true;
  fail("\"" + name + "\" is no dtype",
       "one of f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, boolean");
}

bool read(nb::handle given, Dim& value) {
  std::int64_t size = 0;
  if (read(given, size)) {
    value = size;
    return true;
  }
  std::string text;
  if (!PyUnicode_Check(given.ptr()) || !read(given, text)) return false;
  const std::optional<Dim> parsed = Dim::parse(text);
  if (!parsed) {
    fail("\"" + text + "\" is no dimension",
         "give a size, or the name of a symbol such as \"batch\"");
  }
  value = *parsed;
  return true;
}

bool read(nb::handle given, Shape& value) {
  Dim one;
  if (read(given, one)) {
    value = {one};
    return true;
  }
  return read_all(given, value);
}

bool read(nb::handle given, Value& value) {
  const HeldValue* held = nullptr;
  if (!read_cast(given, held) || held == nullptr) {
    if (type_text(given) != "ndarray") return false;
    value = Array(tensor_of(given).clone()).value();
    return true;
  }
  value = held->value();
  return true;
}

bool read(nb::handle given, Program& value) {
  const Program* program = nullptr;
  if (!read_cast(given, program) || program == nullptr) return false;
  value = Program(program->shared_ir());
  return true;
}

bool read(nb::handle given, Initializer& value) { return read_cast(given, value); }
bool read(nb::handle given, Metric& value) { return read_cast(given, value); }
bool read(nb::handle given, Optimizer& value) {
  const HeldOptimizer* held = nullptr;
  if (!read_cast(given, held) || held == nullptr) return false;
  value = held->optimizer;
  return true;
}

bool read(nb::handle given, Schedule& value) {
  double rate = 0;
  if (read(given, rate)) {
    value = rate;
    return true;
  }
  return read_cast(given, value);
}

bool read(nb::handle given, nn::Activation& value) {
  std::string name;
  if (PyUnicode_Check(given.ptr()) && read(given, name)) {
    value = nn::find_activation(name);
    if (!value) fail_word(name, nn::activation_names());
    return true;
  }
  if (PyCallable_Check(given.ptr()) == 0) return false;
  value = activation_of(nb::borrow(given));
  return true;
}

bool read(nb::handle given, nn::Pair& value) {
  const auto sizes = sizes_of<2>(given);
  if (sizes) value = {(*sizes)[0], (*sizes)[1]};
  return sizes.has_value();
}

bool read(nb::handle given, nn::Triple& value) {
  const auto sizes = sizes_of<3>(given);
  if (sizes) value = {(*sizes)[0], (*sizes)[1], (*sizes)[2]};
  return sizes.has_value();
}

bool read(nb::handle given, nn::Padding& value) {
  std::string word;
  if (read(given, word)) {
    value = word;
    return true;
  }
  if (const auto two = sizes_of<2>(given)) {
    value = {(*two)[0], (*two)[1]};
    return true;
  }
  const auto sides = sizes_of<4>(given);
  if (sides) value = {(*sides)[0], (*sides)[1], (*sides)[2], (*sides)[3]};
  return sides.has_value();
}

bool read(nb::handle given, nn::Padding1d& value) {
  std::string word;
  if (read(given, word)) {
    value = word;
    return true;
  }
  const auto sides = sizes_of<2>(given);
  if (sides) value = {(*sides)[0], (*sides)[1]};
  return sides.has_value();
}

bool read(nb::handle given, nn::Padding3d& value) {
  std::string word;
  if (read(given, word)) {
    value = word;
    return true;
  }
  const auto sides = sizes_of<3>(given);
  if (sides) value = {(*sides)[0], (*sides)[1], (*sides)[2]};
  return sides.has_value();
}

bool read(nb::handle given, std::vector<std::int64_t>& value) {
  std::int64_t one = 0;
  if (read(given, one)) {
    value = {one};
    return true;
  }
  return read_all(given, value);
}

bool read(nb::handle given, const SourceLocation& where, std::vector<Operand>& values) {
  Value value;
  double number = 0;
  if (read(given, value)) values.emplace_back(value, where);
  else if (read(given, number)) values.emplace_back(number, where);
  else return false;
  return true;
}

void fail_word(const std::string& given, const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "\"" : ", \"") + word + "\"";
  fail("\"" + given + "\" is none of the words that are possible here", "one of " + list);
}

nb::object to_python(const Value& value) {
  if (!value) return nb::none();
  if (is_array(value)) return to_python(Array(value));
  const auto found = held_values().find(value.get());
  if (found != held_values().end()) {
    nb::object existing = nb::find(found->second);
    if (existing.is_valid()) return existing;
  }
  auto* made = new HeldValue(value);
  held_values()[value.get()] = made;
  return nb::cast(made, nb::rv_policy::take_ownership);
}

nb::object to_python(Array array) {
  return nb::cast(new HeldArray(std::move(array)), nb::rv_policy::take_ownership);
}

nb::object to_python(const std::vector<Value>& values) {
  nb::list list;
  for (const Value& value : values) list.append(to_python(value));
  return list;
}

nb::object to_python(const std::string& text) { return nb::str(text.data(), text.size()); }

nb::object to_python(const std::vector<std::string>& texts) {
  nb::list list;
  for (const std::string& text : texts) list.append(nb::str(text.data(), text.size()));
  return list;
}

nb::object to_python(const Initializer& initializer) { return nb::cast(initializer); }
nb::object to_python(const Metric& metric) { return nb::cast(metric); }
nb::object to_python(const data::Dataset& dataset) { return nb::cast(dataset); }
nb::object to_python(const Optimizer& optimizer) { return nb::cast(HeldOptimizer{optimizer}); }
nb::object to_python(const Schedule& schedule) { return nb::cast(schedule); }
nb::object to_python(nn::Step& step) { return nb::cast(&step, nb::rv_policy::reference); }

nb::object to_python(const Dim& dim) {
  if (dim.is_constant()) return nb::int_(dim.constant());
  const std::string text = dim.str();
  return nb::str(text.c_str());
}

nb::object to_python(const Shape& shape) {
  nb::list dims;
  for (const Dim& dim : shape) dims.append(to_python(dim));
  return nb::tuple(dims);
}

}  // namespace trireme::python
