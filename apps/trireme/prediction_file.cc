#include "prediction_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "support.h"
#include "trireme/error.h"

namespace commands {
namespace {

// A cell in quotation marks if it needs them (RFC 4180).
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + '"';
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + csv_cell(cells[i]);
  return line + '\n';
}

}  // namespace

void PredictionFile::check_name(const std::string& path) {
  if (path.ends_with(".csv") || path.ends_with(".jsonl")) return;
  throw trireme::Error(trireme::ErrorKind::usage,
                       "--output " + path + ": the name must end in .csv or .jsonl");
}

PredictionFile::PredictionFile(const std::string& path, std::int64_t examples)
    : path_(path),
      temporary_(temporary_name(path)),
      file_(temporary_, std::ios::binary),
      examples_(examples),
      csv_(path.ends_with(".csv")) {
  if (!file_) fail();
}

PredictionFile::~PredictionFile() {
  if (finished_) return;
  file_.close();
  std::remove(temporary_.c_str());
}

void PredictionFile::fail() const {
  throw trireme::Error(trireme::ErrorKind::io,
                       "cannot write " + path_ + ": " + std::strerror(errno));
}

void PredictionFile::show_progress(bool end) {
  if (::isatty(STDERR_FILENO) != 1) return;
  std::fprintf(stderr, "\r\033[K");
  if (end) return;
  std::fprintf(stderr, "%lld of %lld examples", static_cast<long long>(done_),
               static_cast<long long>(examples_));
}

void PredictionFile::add(const Predictions& predictions) {
  if (csv_) {
    if (done_ == 0) file_ << csv_row(predictions.headings);
    for (const auto& row : predictions.rows) file_ << csv_row(row);
  } else {
    for (const auto& record : predictions.json) file_ << json_text(record) << '\n';
  }
  if (!file_.flush()) fail();
  done_ += static_cast<std::int64_t>(predictions.rows.size());
  show_progress(false);
}

void PredictionFile::finish() {
  show_progress(true);
  file_.close();
  if (!file_ || std::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
  finished_ = true;
  std::fprintf(stderr, "wrote %lld predictions to %s\n", static_cast<long long>(done_),
               path_.c_str());
}

}  // namespace commands
