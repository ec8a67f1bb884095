#include "distributed/launch/process.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <vector>

namespace trireme::distributed {
namespace {

// The whole output of a shell, and the longest piece that was buffered meanwhile.
std::vector<std::string> lines_of(const std::string& script) {
  Process shell({"/bin/sh", "-c", script}, {});
  std::vector<std::string> all;
  while (shell.output() >= 0) {
    pollfd waiting{shell.output(), POLLIN, 0};
    ::poll(&waiting, 1, 60000);
    for (std::string& line : shell.lines()) all.push_back(std::move(line));
  }
  return all;
}

TEST(LinesOfProcesses, LinesComeWhole) {
  EXPECT_EQ(lines_of("printf 'one\\n\\nthree\\nand a rest'"),
            (std::vector<std::string>{"one", "", "three", "and a rest"}));
}

// Output without an end of line is not buffered forever.
TEST(LinesOfProcesses, LinesThatAreTooLongComeInPieces) {
  constexpr std::size_t kAll = 3 * Process::kLongestLine + 5;
  const std::vector<std::string> lines =
      lines_of("head -c " + std::to_string(kAll) + " /dev/zero | tr '\\0' x; printf '\\nend\\n'");
  ASSERT_EQ(lines.size(), 5u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(lines[i].size(), Process::kLongestLine) << i;
  EXPECT_EQ(lines[3], "xxxxx");
  EXPECT_EQ(lines[4], "end");
}

// Pieces arrive while the process runs, without an end of line.
TEST(LinesOfProcesses, EndlessLinesAreHeardAtOnce) {
  Process shell({"/bin/sh", "-c", "tr '\\0' x </dev/zero"}, {});
  std::size_t heard = 0;
  while (heard < 10 * Process::kLongestLine) {
    pollfd waiting{shell.output(), POLLIN, 0};
    ASSERT_EQ(::poll(&waiting, 1, 60000), 1);
    for (const std::string& line : shell.lines()) {
      EXPECT_EQ(line.size(), Process::kLongestLine);
      heard += line.size();
    }
  }
  EXPECT_FALSE(shell.ended());
}

TEST(LinesOfProcesses, OfEndsByItselfAndByOthers) {
  EXPECT_TRUE(ended_by_itself(3));
  EXPECT_TRUE(ended_by_itself(128 + 6));
  EXPECT_FALSE(ended_by_itself(128 + 9));
}

}  // namespace
}  // namespace trireme::distributed
