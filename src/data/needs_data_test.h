#pragma once

// For tests on the data sets that have names, whose files most machines do not have.

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "data/find.h"

namespace trireme::data {

// What keeps a part of a data set from being opened: the loader's own words on where it looked and
// how to get the files. Empty if they are here.
inline std::string missing_data(const KnownPlace& place, const std::string& split) {
  try {
    find_part(place, split, "");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_found) throw;
    return error.what();
  }
  return "";
}

// The same of a data set that has a name, such as "mnist/train".
inline std::string missing_data(const std::string& name) {
  const std::size_t slash = name.find('/');
  const std::string missing =
      missing_data(known_place(name.substr(0, slash)), name.substr(slash + 1));
  return missing.empty() ? "" : missing + "; `trireme data list` shows what is here";
}

// Skips the test, and says how to get the data, if they are not on this machine: NEEDS_DATA(name) or
// NEEDS_DATA(place, split).
#define NEEDS_DATA(...)                                                                         \
  if (const std::string missing = ::trireme::data::missing_data(__VA_ARGS__); !missing.empty()) \
  GTEST_SKIP() << missing

}  // namespace trireme::data
