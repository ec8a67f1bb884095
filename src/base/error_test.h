#pragma once

// For tests: what an Error says.

#include <gtest/gtest.h>

#include <string>

#include "trireme/error.h"

namespace trireme {

// The text of the Error that `f` throws, or "no error". It must not be one of ours (internal).
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

// The same of an Error that must be of this kind.
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
