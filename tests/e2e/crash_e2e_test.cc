// Not a test of src/base, because these run with sanitizers, which report crashes themselves.

#include <gtest/gtest.h>

#include <csignal>

#include "trireme/crash.h"

namespace trireme {
namespace {

TEST(CrashDeathTest, ReportsTheSignalAndTheCalls) {
  EXPECT_EXIT(
      {
        report_crashes("this test");
        std::raise(SIGSEGV);
      },
      ::testing::KilledBySignal(SIGSEGV), "this test: signal 11 ended this process.*\n.*\\[0x");
}

}  // namespace
}  // namespace trireme
