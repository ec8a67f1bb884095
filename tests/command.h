#pragma once

// For tests of the whole: a working folder of one's own, what a command said, what an Error said.

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/testing/error.h"

namespace trireme::testing {

struct Outcome {
  int code = -1;       // exit code, or 128 + signal
  std::string output;  // stdout and stderr
};

inline Outcome run(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = ::popen((command + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char block[4096];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, pipe)) > 0;) {
    outcome.output.append(block, n);
  }
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

// "" of a file that is not there; also of one in /proc whose process ends while it is read.
inline std::string read(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

inline void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// `f` must throw an Error of this kind that says `what`.
template <class F>
void fails(ErrorKind kind, const std::string& what, F&& f) {
  EXPECT_THAT(error_of(kind, f), ::testing::HasSubstr(what));
}

// For tests that run a program under `ulimit -f`. ThreadSanitizer maps a large file when it starts,
// so a program built with it cannot start under the limit; the other builds run these tests.
#ifdef __SANITIZE_THREAD__
#define NEEDS_FILE_SIZE_LIMIT() \
  GTEST_SKIP() << "ThreadSanitizer cannot start under a limit on the size of files"
#else
#define NEEDS_FILE_SIZE_LIMIT() static_cast<void>(0)
#endif

// A fresh folder, removed at the end, in a folder of its own: nothing lies beside it.
class InFolder : public ::testing::Test {
 protected:
  explicit InFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string pattern = (parent / "trireme_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    folder_ = root_ + "/here";
    std::filesystem::create_directory(folder_);
  }
  ~InFolder() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // Runs in the folder.
  Outcome run_here(const std::string& command) const {
    return run("cd '" + folder_ + "' && " + command);
  }
  std::string folder_;

 private:
  std::string root_;
};

}  // namespace trireme::testing
