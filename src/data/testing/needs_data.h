#pragma once

// For tests on the data sets that have names. Most machines lack their files.

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "data/find.h"

namespace trireme::data {

// Returns the error of the loader of a data set such as "mnist/train", with the searched folders
// and how to get the files. Empty if the files exist.
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

// Skips the test if this machine lacks the data. The message says how to get them.
#define NEEDS_DATA(name)                                                                 \
  if (const std::string missing = ::trireme::data::missing_data(name); !missing.empty()) \
  GTEST_SKIP() << missing

}  // namespace trireme::data
