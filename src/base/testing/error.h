#pragma once

// For tests: the text of an Error.

#include <gtest/gtest.h>

#include <string>

#include "trireme/error.h"

namespace trireme {

// Returns the text of the Error that `f` throws, or "no error". Its kind must not be internal.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    return error.what();
  }
  return "no error";
}

// The same for an Error that must be of this kind.
template <class F>
std::string error_of(ErrorKind kind, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

}  // namespace trireme
