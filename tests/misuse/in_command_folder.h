#pragma once

// What the tests of bad input by the command line share.

#include <gmock/gmock.h>

#include <cstdlib>
#include <string>

#include "../command.h"

namespace trireme::testing {

inline const std::string kTrireme = TRIREME_CLI;

class InCommandFolder : public InFolder {
 protected:
  // The data sets are those that a test puts here.
  InCommandFolder() { ::unsetenv("TRIREME_DATA"); }

  // The command must fail with `code` and exactly one error, which says `what`.
  void fails(const std::string& arguments, int code, const std::string& what) const {
    const Outcome outcome = run_here(kTrireme + " " + arguments);
    EXPECT_EQ(outcome.code, code) << outcome.output;
    EXPECT_THAT(outcome.output, ::testing::HasSubstr(what));
    const std::size_t first = outcome.output.find("error: ");
    EXPECT_NE(first, std::string::npos) << outcome.output;
    EXPECT_EQ(outcome.output.find("error: ", first + 1), std::string::npos) << outcome.output;
  }
};

}  // namespace trireme::testing
