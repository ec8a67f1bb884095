#include "distributed/job/job_record.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "distributed/placement/address.h"
#include "distributed/placement/small_file.h"

namespace trireme::distributed {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kEnding = ".json";

// The start of the process in ticks since the boot of this machine, with the id of the boot: "" if
// there is no such process.
std::string mark_of(std::int64_t pid) {
  try {
    const std::string line = read_file(fmt::format("/proc/{}/stat", pid));
    // "12 (a name ) with anything) S 1 ...": the 22nd field; the name is the second one.
    std::size_t at = line.rfind(')');
    for (int field = 2; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
    if (at == std::string::npos) return "";
    const std::string boot = read_file("/proc/sys/kernel/random/boot_id");
    return boot.substr(0, boot.find('\n')) + line.substr(at, line.find(' ', at + 1) - at);
  } catch (const Error&) {
    return "";
  }
}

std::string path_of(const std::string& folder, const std::string& name) {
  return folder + "/" + name + kEnding;
}

// The texts of a record, by the names in its file.
std::vector<std::pair<const char*, std::string*>> texts_of(JobRecord& r) {
  return {{"name", &r.name},
          {"job", &r.job},
          {"store", &r.store},
          {"prefix", &r.prefix},
          {"token", &r.token},
          {"credentials", &r.credentials},
          {"etcd_credentials", &r.etcd_credentials},
          {"host", &r.host},
          {"process", &r.process}};
}

std::string text_of(JobRecord record) {
  Json json = {{"etcd", record.etcd}, {"pid", record.pid}, {"since", record.since}};
  for (const auto& [key, text] : texts_of(record)) json[key] = *text;
  return json.dump(2) + "\n";
}

// Returns nothing if it is no record, or one of another user.
std::optional<JobRecord> record_at(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != ::geteuid()) {
    return std::nullopt;
  }
  try {
    const Json json = parse_json<Json>(read_file(path));
    JobRecord r;
    for (const auto& [key, text] : texts_of(r)) json.at(key).get_to(*text);
    json.at("etcd").get_to(r.etcd);
    json.at("pid").get_to(r.pid);
    json.at("since").get_to(r.since);
    return r;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// Returns the folder, which it makes if necessary; only this user can access it.
void make_private(const std::string& folder) {
  const fs::path path(folder);
  if (path.has_parent_path()) make_directories(path.parent_path().string());
  try {
    make_private_folder(folder);
  } catch (const Error& error) {
    fail_io(std::string(error.what()) +
            "\n  hint   chmod 700 it, or name another folder by TRIREME_JOBS");
  }
}

// A file name without special characters of shells.
std::string plain(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || (c == '.' && !text.empty());
    text += good ? c : '_';
  }
  return text.empty() ? "job" : text.substr(0, 100);
}

}  // namespace

std::string jobs_folder() {
  const auto named = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::string(value != nullptr ? value : "");
  };
  if (const std::string jobs = named("TRIREME_JOBS"); !jobs.empty()) return jobs;
  if (const std::string state = named("XDG_STATE_HOME"); !state.empty()) {
    return state + "/trireme/jobs";
  }
  if (const std::string home = named("HOME"); !home.empty()) {
    return home + "/.local/state/trireme/jobs";
  }
  fail_usage("there is no folder for records of jobs: set TRIREME_JOBS or HOME");
}

JobEntry::JobEntry(const std::string& folder, JobRecord record)
    : folder_(folder), record_(std::move(record)) {
  make_private(folder);
  record_.host = machine_name();
  record_.pid = ::getpid();
  record_.since = std::time(nullptr);
  record_.process = mark_of(record_.pid);
  const std::string stem = plain(record_.name);
  for (int number = 1;; ++number) {
    record_.name = number == 1 ? stem : fmt::format("{}-{}", stem, number);
    const std::string path = path_of(folder, record_.name);
    if (create_small_file(path, text_of(record_))) return;
    const std::optional<JobRecord> other = record_at(path);
    if (!other || lives(*other)) continue;
    forget(folder, *other);
    if (create_small_file(path, text_of(record_))) return;
  }
}

JobEntry::~JobEntry() { ::unlink(path_of(folder_, record_.name).c_str()); }

bool lives(const JobRecord& record) {
  if (record.host != machine_name()) return true;
  const std::string mark = mark_of(record.pid);
  return !mark.empty() && mark == record.process;
}

JobListing job_records(const std::string& folder) {
  JobListing listing;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    if (file.path().extension() != kEnding) continue;
    const std::optional<JobRecord> record = record_at(file.path().string());
    // This program did not write a file with another name.
    if (!record || path_of("", record->name) != "/" + file.path().filename().string()) continue;
    (lives(*record) ? listing.running : listing.dead).push_back(*record);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    fail_io(folder + " cannot be read: " + error.message());
  }
  const auto by_name = [](const JobRecord& a, const JobRecord& b) { return a.name < b.name; };
  std::sort(listing.running.begin(), listing.running.end(), by_name);
  std::sort(listing.dead.begin(), listing.dead.end(), by_name);
  return listing;
}

void forget(const std::string& folder, const JobRecord& record) {
  const std::string path = path_of(folder, record.name);
  const std::optional<JobRecord> there = record_at(path);
  if (there && there->pid == record.pid && there->process == record.process) {
    ::unlink(path.c_str());
  }
}

JobRecord find_job(const std::string& folder, const std::string& name) {
  const JobListing listing = job_records(folder);
  std::vector<JobRecord> fit;
  std::string names;
  for (const JobRecord& record : listing.running) {
    if (record.name == name) return record;
    if (record.name.starts_with(name)) fit.push_back(record);
    names += (names.empty() ? "" : ", ") + record.name;
  }
  if (fit.size() == 1) return fit[0];
  if (fit.size() > 1) fail_usage("several jobs run: say which, of " + names);
  for (const JobRecord& record : listing.dead) {
    if (name.empty() || record.name != name) continue;
    forget(folder, record);
    fail(ErrorKind::not_found,
         fmt::format("the job {} runs no more: its launcher, process {}, has gone without a word",
                     name, record.pid));
  }
  if (names.empty()) {
    fail(ErrorKind::not_found, fmt::format("no job runs{}: trireme launch begins one; records of "
                                           "jobs are in {}",
                                           name.empty() ? "" : " that is called " + name, folder));
  }
  fail(ErrorKind::not_found, fmt::format("no job that is called {} runs, but {}", name, names));
}

}  // namespace trireme::distributed
