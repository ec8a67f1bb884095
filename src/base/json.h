#pragma once

// JSON from outside: files, jobs and network frames. Included by files that use nlohmann/json.hpp
// anyway.

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"

namespace trireme {

// Deeper nesting is an error. The parser takes any depth, but code that copies or converts a value
// is recursive.
inline constexpr int kDeepestJson = 500;

// Returns a discarded value if the text is no JSON or is nested too deeply.
template <class Json = nlohmann::json>
Json try_parse_json(std::string_view text) {
  struct TooDeep {};
  using Event = typename Json::parse_event_t;
  const auto watch = [&](int depth, Event event, Json&) {
    const bool begins = event == Event::array_start || event == Event::object_start;
    if (begins && depth >= kDeepestJson) throw TooDeep();
    return true;
  };
  try {
    return Json::parse(text, watch, /*allow_exceptions=*/false);
  } catch (const TooDeep&) {
    return Json(Json::value_t::discarded);
  }
}

// Errors: data if the text is no JSON or is nested too deeply.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text) {
  Json json = try_parse_json<Json>(text);
  if (json.is_discarded()) fail_data("this is not JSON, or is nested too deeply");
  return json;
}

}  // namespace trireme
