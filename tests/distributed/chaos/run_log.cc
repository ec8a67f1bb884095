#include "run_log.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>

namespace trireme::chaos {

double RunLog::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void RunLog::say(const std::string& text) {
  const std::string line = fmt::format("{:7.2f} {}\n", seconds(), text);
  stream_ << line;
  if (!print_) return;
  std::printf("%s%s", label_.c_str(), line.c_str());
  std::fflush(stdout);
}

std::string RunLog::keep(const std::string& folder, const std::string& name) {
  stream_.flush();
  std::filesystem::create_directories(folder);
  const std::filesystem::path kept = std::filesystem::path(folder) / (name + ".log");
  std::filesystem::copy_file(file_, kept, std::filesystem::copy_options::overwrite_existing);
  return kept.string();
}

}  // namespace trireme::chaos
