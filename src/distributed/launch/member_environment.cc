#include "distributed/launch/member_environment.h"

#include <charconv>
#include <cstdlib>

#include "base/error.h"

namespace trireme::distributed {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int environment_number(const char* name, const std::string& unset = "") {
  const std::string found = variable(name), text = found.empty() ? unset : found;
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    fail_usage(std::string(name) + " is \"" + text +
               "\", and a number is expected\n  hint   trireme launch sets it; unset "
               "TRIREME_JOB_STORE and TRIREME_JOB_ETCD to run alone");
  }
  return value;
}

}  // namespace

std::map<std::string, std::string> member_environment(const RoleOptions& options,
                                                      const RoleAccess& access) {
  std::map<std::string, std::string> variables = {
      {"TRIREME_JOB_STORE", access.store},
      {"TRIREME_JOB_ETCD", access.etcd},
      {"TRIREME_JOB_CREDENTIALS", access.credentials},
      {"TRIREME_JOB_ETCD_CREDENTIALS", access.etcd_credentials},
      {"TRIREME_JOB_PREFIX", options.prefix},
      {"TRIREME_JOB_NAME", options.job_name},
      {"TRIREME_JOB_TRAINERS", std::to_string(options.trainers)},
      {"TRIREME_JOB_SERVERS", std::to_string(options.servers)},
      {"TRIREME_JOB_PROCESS", options.name},
      {"TRIREME_JOB_HOST", options.host},
      {"TRIREME_JOB_METRICS_HOST", options.metrics_host},
      {"TRIREME_JOB_METRICS_PORT", std::to_string(options.metrics_port)},
      // The output of a program of Python is a pipe, which it would fill before others see a line.
      {"PYTHONUNBUFFERED", "1"}};
  if (options.threads > 0) variables["TRIREME_NUM_THREADS"] = std::to_string(options.threads);
  return variables;
}

std::optional<RoleOptions> launched_member() {
  const RoleAccess access{.store = variable("TRIREME_JOB_STORE"),
                          .etcd = variable("TRIREME_JOB_ETCD"),
                          .credentials = variable("TRIREME_JOB_CREDENTIALS"),
                          .etcd_credentials = variable("TRIREME_JOB_ETCD_CREDENTIALS")};
  if (access.store.empty() && access.etcd.empty()) return std::nullopt;
  RoleOptions options;
  options.prefix = variable("TRIREME_JOB_PREFIX");
  options.job_name = variable("TRIREME_JOB_NAME");
  options.name = variable("TRIREME_JOB_PROCESS");
  options.trainers = environment_number("TRIREME_JOB_TRAINERS");
  options.servers = environment_number("TRIREME_JOB_SERVERS");
  if (const std::string host = variable("TRIREME_JOB_HOST"); !host.empty()) options.host = host;
  if (const std::string host = variable("TRIREME_JOB_METRICS_HOST"); !host.empty()) {
    options.metrics_host = host;
  }
  options.metrics_port = environment_number("TRIREME_JOB_METRICS_PORT", "0");
  if (options.prefix.empty() || options.name.empty()) {
    fail_usage(
        "TRIREME_JOB_PREFIX and TRIREME_JOB_PROCESS are missing beside TRIREME_JOB_STORE\n"
        "  hint   trireme launch sets them; unset TRIREME_JOB_STORE to run alone");
  }
  secure(options, access, "trainer");
  return options;
}

}  // namespace trireme::distributed
