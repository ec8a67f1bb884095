#include "support.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sstream>

#include "trireme/error.h"

double seconds_since_start() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // Field 22 is the start time. Field 2, the program's name in parentheses, may hold spaces.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const double start = std::stod(field) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - start;
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

namespace {

bool is_numeric(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.,+-e%") == std::string::npos;
}

}  // namespace

std::string table(const std::vector<std::string>& headings,
                  const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  std::vector<bool> right(headings.size(), true);
  for (const std::string& heading : headings) widths.push_back(heading.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
      if (!is_numeric(row[i])) right[i] = false;
    }
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += (i > 0 ? "  " : "") + (right[i] ? padding + row[i] : row[i] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add(headings);
  for (const auto& row : rows) add(row);
  return text;
}

std::string type_of(const trireme::data::Column& column) {
  std::vector<std::string> sizes(static_cast<std::size_t>(column.levels), "ragged");
  for (const std::int64_t size : column.shape) sizes.push_back(std::to_string(size));
  std::string text = std::string(trireme::name_of(column.dtype)) + "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? ", " : "") + sizes[i];
  return text + "]";
}

std::string class_name(const std::vector<std::string>& names, std::int64_t index) {
  const auto i = static_cast<std::size_t>(index);
  return index >= 0 && i < names.size() ? names[i] : std::to_string(index);
}

void print_measured(const trireme::Metrics& metrics, const std::string& what,
                    const std::vector<std::string>& class_names) {
  const auto n = static_cast<long long>(metrics.examples());
  const std::string first = metrics.has("accuracy") ? "accuracy" : "mse";
  if (first == "accuracy") {
    std::printf("%saccuracy: %.4f  (%lld examples)\n", what.c_str(), metrics["accuracy"], n);
  } else {
    std::printf("%smse: %.6g  (%lld examples)\n", what.c_str(),
                metrics[metrics.has("mse") ? "mse" : "loss"], n);
  }
  for (const auto& [name, value] : metrics.numbers()) {
    if (name != "loss" && name != first) {
      std::printf("%s%s: %.6g\n", what.c_str(), name.c_str(), value);
    }
  }
  if (metrics.tensors().empty()) return;
  std::printf("\nconfusion matrix: rows are true classes, columns are predicted classes\n%s",
              trireme::confusion_table(metrics.tensor("confusion"), class_names).c_str());
}

std::int64_t winner(const float* scores, std::int64_t count) {
  return std::max_element(scores, scores + count) - scores;
}

trireme::data::Batch inputs_of(const trireme::Model& model, const trireme::data::Batch& batch) {
  trireme::data::Batch inputs;
  for (const auto& port : model.inputs()) {
    const auto column = batch.find(port.name);
    if (column == batch.end()) {
      throw trireme::Error(trireme::ErrorKind::data,
                           "the data has no column \"" + port.name + "\", but the model needs it");
    }
    inputs.insert(*column);
  }
  return inputs;
}

std::string temporary_name(const std::string& path) {
  std::random_device device;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%08x%08x", device(), device());
  return path + "." + digits + ".tmp";
}

void write_file(const std::string& path, const std::string& content) {
  const std::string temporary = temporary_name(path);
  std::ofstream file(temporary, std::ios::binary);
  file << content;
  file.close();
  if (file && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  const std::string why = std::strerror(errno);
  std::remove(temporary.c_str());
  throw trireme::Error(trireme::ErrorKind::io, "cannot write " + path + ": " + why);
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = word.size() / 2 + 1;
  for (const std::string& candidate : candidates) {
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), 0u);
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0]++;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t changed = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

namespace {

std::int64_t row_number(const std::string& text, const std::string& rows) {
  try {
    std::size_t used = 0;
    const std::int64_t number = std::stoll(text, &used);
    if (used == text.size()) return number;
  } catch (const std::exception&) {
  }
  throw trireme::Error(trireme::ErrorKind::usage,
                       "--rows " + rows + ": is not a range of rows\n  hint   --rows 0:10, or 7");
}

}  // namespace

RowRange read_rows(const std::string& rows, std::int64_t count) {
  const std::size_t colon = rows.find(':');
  const std::int64_t begin = row_number(rows.substr(0, colon), rows);
  if (colon == std::string::npos) return {begin, begin + 1};
  const std::string text = rows.substr(colon + 1);
  return {begin, std::min(text.empty() ? count : row_number(text, rows), count)};
}
