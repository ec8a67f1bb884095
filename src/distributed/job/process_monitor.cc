#include "distributed/job/process_monitor.h"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include "distributed/coordination/handshakes.h"
#include "distributed/placement/address.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kReportInterval{500};  // between two looks at what is new

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_bytes() {
  long size = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%ld %ld", &size, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double open_files() {
  int count = -3;  // ".", ".." and the one that reads
  if (DIR* folder = ::opendir("/proc/self/fd")) {
    while (::readdir(folder) != nullptr) ++count;
    ::closedir(folder);
  }
  return count;
}

// With the names that all clients of Prometheus use.
void add_process(Registry& registry, std::int64_t since) {
  registry.collect(MetricKind::counter, "process_cpu_seconds_total",
                   "Processor time of the process, user and system.", cpu_seconds);
  registry.collect(MetricKind::gauge, "process_resident_memory_bytes",
                   "Memory of the process that is in use.", resident_bytes);
  registry.collect(MetricKind::gauge, "process_open_fds", "Files and sockets that are open.",
                   open_files);
  registry.gauge("process_start_time_seconds", "When the process began, in Unix time.")
      .set(static_cast<double>(since));
}

}  // namespace

ProcessMonitor::ProcessMonitor(const ProcessMonitorOptions& options) : options_(options) {
  entry_ = {options.name,       options.role, machine_name(), ::getpid(),
            std::time(nullptr), {},           options.place};
  registry_
      .gauge("trireme_build_info", "Always 1: which Trireme this is.",
             {{"version", TRIREME_VERSION}, {"compiler", __VERSION__}})
      .set(1);
  registry_
      .gauge("trireme_process_info", "Always 1: which process of which job this is.",
             {{"job", options.job}, {"role", options.role}, {"name", options.name}})
      .set(1);
  registry_.collect(MetricKind::gauge, "trireme_healthy", "Whether a check of /readyz is well.",
                    [this] {
                      std::vector<Registry::Sample> samples;
                      for (const auto& [name, finding] : health_.report().findings) {
                        samples.push_back({finding.well ? 1.0 : 0.0, {{"check", name}}});
                      }
                      return samples;
                    });
  registry_.collect(
      MetricKind::counter, "trireme_tls_failed_handshakes_total",
      "TLS handshakes of this process that failed: of unauthenticated_peers, as a rule.",
      [] { return static_cast<double>(failed_handshakes()); });
  add_process(registry_, entry_.since);
}

ProcessMonitor::~ProcessMonitor() {
  http_.reset();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ProcessMonitor::publish(const std::string& key, std::function<std::string()> value) {
  published_[key] = std::move(value);
}

void ProcessMonitor::start(Store& store, const Pages& more) {
  store_ = &store;
  // No reason to end a process: processes continue without the store.
  health_.add("store", [this] {
    return Finding{true,
                   entered() ? "answers" : "does not answer: the job does not see this process"};
  });
  HttpOptions http;
  http.host = options_.host;
  http.port = options_.port;
  Pages pages = monitor_pages(registry_, health_,
                              fmt::format("{}, a {} of the job {}\n/metrics /healthz /readyz\n",
                                          options_.name, options_.role, options_.job));
  pages.insert(more.begin(), more.end());
  http_.emplace(http, std::move(pages));
  const bool everywhere = options_.host == "0.0.0.0" || options_.host == "::";
  const std::string host = everywhere ? entry_.host : options_.host;
  const bool colons = host.find(':') != std::string::npos;  // an address of IPv6
  entry_.metrics = fmt::format("{}:{}", colons ? "[" + host + "]" : host, http_->port());
  published_[process_prefix(options_.prefix) + options_.name] = [this] { return text_of(entry_); };
  thread_ = std::thread([this] { run(); });
}

bool ProcessMonitor::entered() const {
  const std::lock_guard lock(mutex_);
  return entered_;
}

void ProcessMonitor::run() {
  for (;;) {
    bool well = true;
    try {
      tell();
    } catch (const Error&) {  // tries again
      well = false;
    }
    std::unique_lock lock(mutex_);
    entered_ = well;
    if (wake_.wait_for(lock, kReportInterval, [this] { return stop_; })) return;
  }
}

void ProcessMonitor::tell() {
  if (!lease_ || lease_->ended()) {
    told_.clear();
    lease_.reset();
    lease_.emplace(*store_, LeaseOptions{.seconds = 5});
  }
  for (const auto& [key, value] : published_) {
    std::string now = value();
    std::string& told = told_[key];
    if (now == told) continue;
    if (!now.empty()) store_->put(key, now, lease_->id());
    told = std::move(now);
  }
}

LeaseWriter::LeaseWriter(Health& health) {
  // The process continues, and has a lease again when the store is back.
  health.add(
      "lease",
      [lost = lost_] {
        return Finding{!*lost, *lost ? "lost: the job's store has not answered in time" : "held"};
      },
      Means::not_ready);
}

}  // namespace trireme::distributed
