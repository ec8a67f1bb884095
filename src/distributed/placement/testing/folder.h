#pragma once

// Helpers of tests of launchers.

#include <gtest/gtest.h>

#include <string>

#include "data/testing/files.h"

namespace trireme::distributed::testing {

// A fresh folder, removed at the end.
class InFolder : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  const data::TestDirectory folder_;
};

}  // namespace trireme::distributed::testing
