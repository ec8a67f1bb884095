#pragma once

// The files of a training run, for watching and resuming it: docs/reference/run-folder.md.

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session/train/event_file.h"

namespace trireme {

// Locks a folder for one process during its lifetime; the system unlocks it if the process dies.
class FolderLock {
 public:
  // Creates the folder. Errors: usage if another process has locked it; io.
  explicit FolderLock(const std::string& directory);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

// Returns the folder of checkpoints in a run folder.
std::string checkpoints_of(const std::string& run);

// Returns the lines of a metrics.jsonl with a step up to `steps`, each with its end. Other lines,
// such as a last one that was broken off, are left out.
std::string lines_of_steps(std::string_view text, std::int64_t steps);

class RunFolder {
 public:
  using Numbers = std::vector<std::pair<std::string, double>>;

  // Begins a run, or continues one after `steps_done`. Drops the records of later steps, because
  // they run again. Errors: io.
  RunFolder(const std::string& directory, std::int64_t steps_done, bool resumed);

  // Errors of all: io. Steps and epochs count from 1.
  void step(std::int64_t step, std::int64_t epoch, const Numbers& numbers, double learning_rate,
            std::int64_t examples);  // examples since the last line
  void epoch(std::int64_t step, std::int64_t epoch, const Numbers& training);
  void validation(std::int64_t step, std::int64_t epoch, const Numbers& numbers);

 private:
  void write(const char* event, std::int64_t step, std::int64_t epoch, const Numbers& numbers);
  Numbers system_numbers(std::int64_t examples);

  std::string path_;
  std::ofstream lines_;
  std::unique_ptr<EventFile> events_;
  std::chrono::steady_clock::time_point last_time_;
  double last_cpu_ = 0;
};

}  // namespace trireme
