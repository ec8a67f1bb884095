#pragma once

// The codec of messages: orders, reports and values of keys, as JSON. A message is a struct with
//
//   template <class Visitor>
//   void fields(Visitor& visit) {
//     visit("folder", folder);
//     visit("blocks", blocks);
//   }
//
// encode() writes an object with these keys, and decode() reads one. A field is a bool, a number
// (NaN and infinity are the texts "nan", "inf" and "-inf"), a text of any bytes, an enum (as its
// number), another message, a pair, a vector, a map with numbers as keys, or an std::optional of
// these, whose key may be missing. Types of other headers have encode_value() and decode_value().
// Only .cc files include this header.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace trireme::distributed {

// Encodes any bytes as text: % and bytes that are not printable ASCII become % and two hexadecimal
// digits.
std::string escaped(std::string_view bytes);
std::string unescaped(std::string_view text);  // throws std::domain_error

namespace message {

using Json = nlohmann::ordered_json;

class Writer;

template <class T>
concept Message = requires(T& value, Writer& writer) { value.fields(writer); };

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
Json to_json(const T& value);
template <class T>
void from_json(const Json& json, T& value);

class Writer {
 public:
  explicit Writer(Json& json) : json_(json) {}
  template <class T>
  void operator()(const char* key, const T& value) {
    if constexpr (is_optional<T>) {
      if (value) json_[key] = to_json(*value);
    } else {
      json_[key] = to_json(value);
    }
  }
  template <class T>
  void defaulted(const char* key, const T& value) {
    (*this)(key, value);
  }

 private:
  Json& json_;
};

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}
  template <class T>
  void operator()(const char* key, T&& value) {
    if constexpr (is_optional<std::remove_reference_t<T>>) {
      value.reset();
      const auto found = json_.find(key);
      if (found == json_.end() || found->is_null()) return;
      from_json(*found, value.emplace());
    } else {
      try {
        from_json(json_.at(key), value);
      } catch (const std::exception& error) {
        throw std::domain_error(std::string("\"") + key + "\": " + error.what());
      }
    }
  }
  // For keys that earlier versions did not write: without the key the value stays as it is.
  template <class T>
  void defaulted(const char* key, T&& value) {
    if (json_.contains(key)) (*this)(key, value);
  }

 private:
  const Json& json_;
};

// Returns an integer that T can hold.
template <std::integral T>
T integer_in(const Json& json) {
  if (json.is_number_unsigned() && std::in_range<T>(json.get<std::uint64_t>())) {
    return static_cast<T>(json.get<std::uint64_t>());
  }
  if (json.is_number_integer() && !json.is_number_unsigned() &&
      std::in_range<T>(json.get<std::int64_t>())) {
    return static_cast<T>(json.get<std::int64_t>());
  }
  throw std::domain_error("is no number that fits");
}

inline double non_finite(const Json& json) {
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  throw std::domain_error("is no number");
}

template <class T>
struct Codec {
  static Json write(const T& value) {
    if constexpr (Message<T>) {
      Json json = Json::object();
      Writer writer(json);
      const_cast<T&>(value).fields(writer);  // which only reads
      return json;
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<std::int64_t>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::isfinite(value) ? Json(value)
                                  : Json(std::isnan(value) ? "nan"
                                         : value > 0       ? "inf"
                                                           : "-inf");
    } else if constexpr (std::is_integral_v<T>) {
      return value;
    } else {
      return encode_value(value);
    }
  }
  static void read(const Json& json, T& value) {
    if constexpr (Message<T>) {
      Reader reader(json);
      value.fields(reader);
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(integer_in<std::underlying_type_t<T>>(json));
    } else if constexpr (std::is_same_v<T, bool>) {
      value = json.get<bool>();
    } else if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(json.is_string() ? non_finite(json) : json.get<double>());
    } else if constexpr (std::is_integral_v<T>) {
      value = integer_in<T>(json);
    } else {
      decode_value(json, value);
    }
  }
};

template <>
struct Codec<std::string> {
  static Json write(const std::string& value) { return escaped(value); }
  static void read(const Json& json, std::string& value) {
    value = unescaped(json.get_ref<const std::string&>());
  }
};

template <class A, class B>
struct Codec<std::pair<A, B>> {
  static Json write(const std::pair<A, B>& value) {
    return Json::array({to_json(value.first), to_json(value.second)});
  }
  static void read(const Json& json, std::pair<A, B>& value) {
    if (!json.is_array() || json.size() != 2) throw std::domain_error("is no pair");
    from_json(json[0], value.first);
    from_json(json[1], value.second);
  }
};

template <class T>
struct Codec<std::vector<T>> {
  static Json write(const std::vector<T>& values) {
    Json json = Json::array();
    for (const T& value : values) json.push_back(to_json(value));
    return json;
  }
  static void read(const Json& json, std::vector<T>& values) {
    if (!json.is_array()) throw std::domain_error("is no list");
    values.clear();
    for (const Json& value : json) from_json(value, values.emplace_back());
  }
};

template <std::integral K, class T>
struct Codec<std::map<K, T>> {
  static Json write(const std::map<K, T>& values) {
    Json json = Json::object();
    for (const auto& [key, value] : values) json[std::to_string(key)] = to_json(value);
    return json;
  }
  static void read(const Json& json, std::map<K, T>& values) {
    if (!json.is_object()) throw std::domain_error("is no object");
    values.clear();
    for (const auto& [key, value] : json.items()) {
      from_json(value, values[integer_in<K>(Json::parse(key))]);
    }
  }
};

template <class T>
Json to_json(const T& value) {
  return Codec<T>::write(value);
}
template <class T>
void from_json(const Json& json, T& value) {
  Codec<T>::read(json, value);
}

}  // namespace message

template <message::Message T>
std::string encode(const T& value) {
  return message::to_json(value).dump();
}

// Errors: data, "`what` is not valid: ...".
template <message::Message T>
T decode(std::string_view text, const std::string& what) {
  try {
    T value;
    message::from_json(parse_json<message::Json>(text), value);
    return value;
  } catch (const std::exception& error) {
    fail_data(what + " is not valid: " + error.what());
  }
}

}  // namespace trireme::distributed
