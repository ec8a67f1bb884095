#pragma once

// Jobs by the command line, on synthetic data, and their processes.

#include <signal.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "../command.h"

namespace trireme::testing {

inline const std::string kLaunch = std::string(TRIREME_CLI) + " launch ";

inline double number_behind(const std::string& text, const std::string& label) {
  const std::size_t at = text.find(label);
  EXPECT_NE(at, std::string::npos) << "no \"" << label << "\" in:\n" << text;
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + label.size(), nullptr);
}

// Processes whose command line, or `file`, has all of these words.
inline std::vector<pid_t> processes_with(const std::vector<std::string>& words,
                                         const std::string& file = "cmdline") {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string id = entry.path().filename();
    if (id.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string line = read(entry.path().string() + "/" + file);
    bool all = true;
    for (const std::string& word : words) all = all && line.find(word) != std::string::npos;
    if (all) found.push_back(std::stoi(id));
  }
  return found;
}

class Launch : public InFolder {
 protected:
  // Records of jobs are separate for each test.
  Launch() { ::setenv("TRIREME_JOBS", path("jobs").c_str(), 1); }
  ~Launch() override { ::unsetenv("TRIREME_JOBS"); }

  std::string job(const std::string& train, const std::string& distributed, int examples,
                  int epochs = 1) const {
    const std::string text =
        "[data]\ntrain = { synthetic_clicks = " + std::to_string(examples) +
        ", ids = 2000 }\ntest = { synthetic_clicks = 2000, first = 1000000, ids = 2000 }\nbatch = "
        "64\n"
        "[model]\nname = \"deepfm\"\nwidth = 4\nhidden = [16]\nsparse_gradient = true\n"
        "[train]\nloss = \"binary_cross_entropy\"\nmetrics = [\"auc\"]\n" +
        train + "epochs = " + std::to_string(epochs) + "\n[distributed]\n" + distributed;
    write(path("job.toml"), text);
    return path("job.toml");
  }
  // Waits for the process of a role of this job.
  pid_t process(const std::string& name) const {
    for (int i = 0; i < 400; ++i) {
      const std::vector<pid_t> found = processes_with({path("job.toml"), name});
      if (!found.empty()) return found[0];
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    ADD_FAILURE() << "there is no " << name;
    return 0;
  }
};

inline constexpr const char* kAdagrad = "optimizer = { adagrad = { learning_rate = 0.05 } }\n";

}  // namespace trireme::testing
