#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "predictions.h"

namespace commands {

// Writes predictions batch by batch: a .jsonl file has one JSON object in each line, and a .csv
// file a header and one row for each example. The file has a temporary name until finish(). Shows
// progress on standard error. Errors: usage for another ending, io.
class PredictionFile {
 public:
  PredictionFile(const std::string& path, std::int64_t examples);
  PredictionFile(const PredictionFile&) = delete;
  PredictionFile& operator=(const PredictionFile&) = delete;
  ~PredictionFile();  // removes an unfinished file

  static void check_name(const std::string& path);

  void add(const Predictions& predictions);
  void finish();

 private:
  void show_progress(bool end);
  [[noreturn]] void fail() const;

  std::string path_, temporary_;
  std::ofstream file_;
  std::int64_t examples_, done_ = 0;
  bool csv_, finished_ = false;
};

}  // namespace commands
