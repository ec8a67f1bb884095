#pragma once

// The arguments of a call from a Python function that tools/bindings made.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "made/conversions.h"
#include "read.h"

namespace trireme::python {

template <class T>
bool read(nb::handle given, std::optional<T>& value);
template <class T>
bool read(nb::handle given, std::vector<T>& values);
template <class Result, class... Arguments>
bool read(nb::handle given, std::function<Result(Arguments...)>& function);

// The text of a Python type for error messages: "list" of [1, "a"].
std::string type_text(nb::handle given);
[[noreturn]] void fail_result(nb::handle given);

template <class T>
bool read(nb::handle given, std::optional<T>& value) {
  T inner = value ? *value : fresh<T>();
  if (!read(given, inner)) return false;
  value = std::move(inner);
  return true;
}

template <class T>
bool read(nb::handle given, std::vector<T>& values) {
  if (!is_sequence(given)) return false;
  values.clear();
  for (const nb::handle element : given) {
    if (!read(element, values.emplace_back())) return false;
  }
  return true;
}

template <class Result, class... Arguments>
bool read(nb::handle given, std::function<Result(Arguments...)>& function) {
  if (PyCallable_Check(given.ptr()) == 0) return false;
  function = [callable = nb::borrow(given)](Arguments... arguments) -> Result {
    const nb::object result = callable(to_python(arguments)...);
    if constexpr (!std::is_void_v<Result>) {
      Result value{};
      if (!read(result, value)) fail_result(result);
      return value;
    }
  };
  return true;
}

// The arguments by name. None and a missing name stand for the default of C++.
class Call {
 public:
  Call(std::string function, nb::dict arguments, SourceLocation where)
      : function_(std::move(function)), arguments_(std::move(arguments)), where_(where) {}

  // The members of a class of settings, or of a dict instead of it; empty for other objects.
  static std::optional<Call> of_record(nb::handle given);

  const SourceLocation& where() const { return where_; }
  bool has(const char* name) const { return find(name).is_valid(); }

  // Sets `value` if the argument is given. Errors: usage, for an object of another type.
  template <class T>
  void set(const char* name, T& value) const {
    const nb::object given = find(name);
    if (given.is_valid() && !read(given, value)) fail_type(name, given);
  }
  // Errors: usage, as above, and if it is not given.
  template <class T>
  void require(const char* name, T& value) const {
    required(name);
    set(name, value);
  }
  template <class T>
  T get(const char* name) const {
    if constexpr (std::is_same_v<T, Operand>) {
      std::vector<Operand> one;
      if (!read(required(name), where_, one)) fail_type(name, required(name));
      return one.front();
    } else if constexpr (std::is_same_v<T, std::vector<Operand>>) {
      std::vector<Operand> operands;
      for (const nb::handle given : sequence(name)) {
        if (!read(given, where_, operands)) fail_type(name, given);
      }
      return operands;
    } else if constexpr (std::is_same_v<T, data::Dataset>) {
      const data::Dataset* dataset = nullptr;
      if (!nb::try_cast(required(name), dataset, false)) fail_type(name, required(name));
      return *dataset;
    } else if constexpr (std::is_same_v<T, Program>) {
      const nb::object given = find(name);
      if (!given.is_valid()) return array_program();
      Program program("");
      if (!read(given, program)) fail_type(name, given);
      return program;
    } else {
      T value = fresh<T>();
      if (!read(required(name), value)) fail_type(name, required(name));
      return value;
    }
  }

 private:
  nb::object find(const char* name) const;  // not valid: missing or None
  nb::object required(const char* name) const;
  nb::object sequence(const char* name) const;
  [[noreturn]] void fail_type(const char* name, nb::handle given) const;

  std::string function_;
  nb::dict arguments_;
  SourceLocation where_;
};

// The call of the running function with the keywords `given` and one more argument.
Call call_with(const char* function, const nb::kwargs& given, const char* name, nb::handle value);

struct CallEntry {
  const char* name;  // "nn.linear"
  nb::object (*function)(const Call& call);
};

// The functions of each module, made by tools/bindings.
std::span<const CallEntry> ops_functions();
std::span<const CallEntry> losses_functions();
std::span<const CallEntry> nn_functions();
std::span<const CallEntry> sequence_functions();
std::span<const CallEntry> metrics_functions();
std::span<const CallEntry> optim_functions();
std::span<const CallEntry> schedules_functions();
std::span<const CallEntry> datasets_functions();
std::span<const CallEntry> jobs_functions();

}  // namespace trireme::python
