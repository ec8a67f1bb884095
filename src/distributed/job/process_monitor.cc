#include "distributed/job/process_monitor.h"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "distributed/coordination/handshakes.h"
#include "distributed/placement/address.h"

namespace trireme::distributed {
namespace {

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
  entry_ = {.name = options.name,
            .role = options.role,
            .host = machine_name(),
            .pid = ::getpid(),
            .since = std::time(nullptr),
            .place = options.place};
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

void ProcessMonitor::start(const Pages& more) {
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
