#pragma once

// From Python objects to C++ values and back. read() returns false for an object of another type;
// it throws Error(usage) for a value that cannot be right, such as a number that is too large.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/array.h"
#include "trireme/attention.h"
#include "trireme/convolution.h"
#include "trireme/data.h"
#include "trireme/metrics.h"
#include "trireme/nn.h"
#include "trireme/optimizer.h"
#include "trireme/program.h"
#include "trireme/rnn.h"

namespace trireme::python {

namespace nb = nanobind;

bool read(nb::handle given, bool& value);
bool read(nb::handle given, int& value);
bool read(nb::handle given, std::int64_t& value);
bool read(nb::handle given, std::uint64_t& value);
bool read(nb::handle given, double& value);
bool read(nb::handle given, std::string& value);
bool read(nb::handle given, DType& value);
bool read(nb::handle given, Dim& value);
bool read(nb::handle given, Shape& value);
bool read(nb::handle given, Value& value);
bool read(nb::handle given, Program& value);
bool read(nb::handle given, Initializer& value);
bool read(nb::handle given, nn::Activation& value);
bool read(nb::handle given, nn::Pair& value);
bool read(nb::handle given, nn::Triple& value);
bool read(nb::handle given, nn::Padding& value);
bool read(nb::handle given, nn::Padding1d& value);
bool read(nb::handle given, nn::Padding3d& value);
bool read(nb::handle given, Schedule& value);
bool read(nb::handle given, Optimizer& value);
bool read(nb::handle given, Metric& value);
bool read(nb::handle given, std::vector<std::int64_t>& value);  // one integer is a list of it
// A Value or a number. `where` is the place of the call.
bool read(nb::handle given, const SourceLocation& where, std::vector<Operand>& values);

// The repr of an object for error messages, shortened.
std::string text_of(nb::handle given);

// A list, a tuple or another sequence, but not a text.
bool is_sequence(nb::handle given);
bool is_tuple(nb::handle given, std::size_t size);

nb::object to_python(const Value& value);  // an Array, if it belongs to the Program of Arrays
nb::object to_python(Array array);
nb::object to_python(const std::vector<Value>& values);
nb::object to_python(const Dim& dim);
nb::object to_python(const Shape& shape);
nb::object to_python(const std::string& text);
nb::object to_python(const std::vector<std::string>& texts);
nb::object to_python(const Initializer& initializer);
nb::object to_python(const Metric& metric);
nb::object to_python(const data::Dataset& dataset);
nb::object to_python(const Optimizer& optimizer);
nb::object to_python(const Schedule& schedule);
nb::object to_python(nn::Step& step);  // valid as long as the step

// A value to read into.
template <class T>
T fresh() {
  if constexpr (std::is_default_constructible_v<T>) return T{};
  else return T(1);  // Pair and Triple
}

// The word of an enumeration. Errors: usage, with all words, for another text.
template <class Enum>
bool read_word(nb::handle given, std::initializer_list<std::pair<const char*, Enum>> words,
               Enum& value);
[[noreturn]] void fail_word(const std::string& given, const std::vector<std::string>& words);

template <class Enum>
bool read_word(nb::handle given, std::initializer_list<std::pair<const char*, Enum>> words,
               Enum& value) {
  std::string text;
  if (!read(given, text)) return false;
  std::vector<std::string> names;
  for (const auto& [word, meaning] : words) {
    if (text == word) {
      value = meaning;
      return true;
    }
    names.emplace_back(word);
  }
  fail_word(text, names);
}

}  // namespace trireme::python
