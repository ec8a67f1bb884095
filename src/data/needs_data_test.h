#pragma once

// For tests on the data sets that have names, whose files most machines do not have.

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "data/find.h"

namespace trireme::data {

// What keeps a data set such as "mnist/train" from being opened: the loader's own words on where it
// looked and how to get the files. Empty if they are here.
inline std::string missing_data(const std::string& name) {
  const std::size_t slash = name.find('/');
  try {
    find_part(known_place(name.substr(0, slash)), name.substr(slash + 1), "");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_found) throw;
    return std::string(error.what()) + "; `trireme data list` shows what is here";
  }
  return "";
}

// Skips the test, and says how to get the data, if they are not on this machine.
#define NEEDS_DATA(name)                                                                 \
  if (const std::string missing = ::trireme::data::missing_data(name); !missing.empty()) \
  GTEST_SKIP() << missing

}  // namespace trireme::data
