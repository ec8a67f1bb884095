#include "session/train/run_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::steady_clock;

// Seconds of processor time of this process, all its threads together.
double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Bytes of memory that the process has in use now.
double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::string lines_of_steps(std::string_view text, std::int64_t steps) {
  std::string kept;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string_view::npos;
       at = end + 1) {
    const std::string_view line = text.substr(at, end + 1 - at);
    const Json json = try_parse_json<Json>(line);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) continue;
    if (json["step"].get<std::int64_t>() <= steps) kept += line;
  }
  return kept;
}

FolderLock::FolderLock(const std::string& directory) {
  make_directories(directory);
  const std::string path = directory + "/lock";
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    fail_io(fmt::format("cannot write {}: {}", path, std::generic_category().message(errno)));
  }
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  const int error = errno;
  ::close(fd_);
  fd_ = -1;
  if (error != EWOULDBLOCK) {
    fail_io(fmt::format("cannot lock {}: {}", path, std::generic_category().message(error)));
  }
  fail_usage(
      fmt::format("{} is in use by another training run\n"
                  "  hint   wait until it ends, or choose another folder",
                  directory));
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

std::string checkpoints_of(const std::string& run) { return run + "/checkpoints"; }

RunFolder::RunFolder(const std::string& directory, std::int64_t steps_done, bool resumed)
    : path_(directory + "/metrics.jsonl"), last_time_(steady_clock::now()) {
  make_directories(directory);
  if (resumed && std::filesystem::exists(path_)) {
    write_file_atomically(path_, lines_of_steps(read_file(path_), steps_done));
  }
  lines_.open(path_, resumed ? std::ios::app : std::ios::trunc);
  if (!lines_) fail_io("cannot write " + path_);
  events_ = std::make_unique<EventFile>(directory, resumed ? steps_done + 1 : 0);
  last_cpu_ = cpu_seconds();
}

RunFolder::Numbers RunFolder::system_numbers(std::int64_t examples) {
  const auto time = steady_clock::now();
  const double cpu = cpu_seconds();
  const double spent = std::max(std::chrono::duration<double>(time - last_time_).count(), 1e-9);
  Numbers numbers = {{"samples_per_second", static_cast<double>(examples) / spent},
                     {"memory_bytes", resident_bytes()},
                     {"cpu_percent", 100 * (cpu - last_cpu_) / spent}};
  last_time_ = time;
  last_cpu_ = cpu;
  return numbers;
}

void RunFolder::write(const char* event, std::int64_t step, std::int64_t epoch,
                      const Numbers& numbers) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  Json json = {{"event", event}, {"time", now}, {"step", step}, {"epoch", epoch}};
  for (const auto& [name, value] : numbers) json[name] = value;
  lines_ << json.dump(-1, ' ', false, Json::error_handler_t::replace)
         << std::endl;  // to be watched
  if (!lines_) fail_io("cannot write " + path_ + ": is the disk full?");
  Numbers tagged;
  for (const auto& [name, value] : numbers)
    tagged.emplace_back(std::string(event) + "/" + name, value);
  events_->add(step, tagged);
}

void RunFolder::step(std::int64_t step, std::int64_t epoch, const Numbers& numbers,
                     double learning_rate, std::int64_t examples) {
  Numbers all = numbers;
  all.emplace_back("learning_rate", learning_rate);
  for (auto& number : system_numbers(examples)) all.push_back(std::move(number));
  write("train", step, epoch, all);
}

void RunFolder::epoch(std::int64_t step, std::int64_t epoch, const Numbers& training) {
  write("epoch", step, epoch, training);
}

void RunFolder::validation(std::int64_t step, std::int64_t epoch, const Numbers& numbers) {
  write("validation", step, epoch, numbers);
}

}  // namespace trireme
