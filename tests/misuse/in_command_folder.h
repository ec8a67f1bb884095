#pragma once

// What the tests of bad input by the command line share.

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "../command.h"

namespace trireme::testing {

inline const std::string kTrireme = TRIREME_CLI;

// A folder for temporary files where commands find no data sets: they look for shared/data in every
// folder above the working directory.
inline std::filesystem::path folder_without_data_sets() {
  namespace fs = std::filesystem;
  for (const fs::path& folder :
       {fs::temp_directory_path(), fs::path("/tmp"), fs::path("/var/tmp"), fs::path("/dev/shm")}) {
    bool found = false;
    for (fs::path here = fs::absolute(folder) / "x"; here.has_relative_path();
         here = here.parent_path()) {
      found = found || fs::exists(here.parent_path() / "shared" / "data");
    }
    if (!found && fs::is_directory(folder)) return folder;
  }
  throw std::runtime_error("every folder for temporary files is below a folder with shared/data");
}

class InCommandFolder : public InFolder {
 protected:
  // The data sets are those that a test puts here.
  InCommandFolder() : InFolder(folder_without_data_sets()) { ::unsetenv("TRIREME_DATA"); }

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
