#pragma once

// Trainings by the command line, each in a folder of its own.

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "../command.h"
#include "data/testing/needs_data.h"

namespace trireme::testing {

inline const std::string kTrireme = TRIREME_CLI;
inline const std::string kJobs = TRIREME_JOBS;

// Commands run elsewhere: what ../shared/data means must not change.
inline void find_data_from_here() {
  if (std::getenv("TRIREME_DATA") != nullptr) return;
  const std::string shared = std::string(TRIREME_JOBS) + "/../../../shared/data";
  if (std::filesystem::exists(shared)) ::setenv("TRIREME_DATA", shared.c_str(), 1);
}

inline double number_behind(const std::string& text, const std::string& label) {
  const std::size_t at = text.find(label);
  if (at == std::string::npos) {
    ADD_FAILURE() << "no \"" << label << "\" in:\n" << text;
    return -1;
  }
  return std::strtod(text.c_str() + at + label.size(), nullptr);
}

class EndToEnd : public InFolder {
 protected:
  EndToEnd() { find_data_from_here(); }

  std::string succeeds(const std::string& command) {
    const Outcome outcome = run_here(command);
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.output;
    return outcome.output;
  }
  // Trains an example job on few examples.
  std::string train(const std::string& job, const std::string& options) {
    return succeeds(kTrireme + " train " + kJobs + "/" + job + ".toml -o model " + options);
  }
  std::string weights(const std::string& folder = "model") {
    return read(path(folder + "/weights.safetensors"));
  }
};

}  // namespace trireme::testing
