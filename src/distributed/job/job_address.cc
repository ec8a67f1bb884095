#include "distributed/job/job_address.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/job/job_keys.h"
#include "distributed/placement/authority.h"
#include "distributed/placement/bootstrap.h"

namespace trireme::distributed {
namespace {

constexpr const char* kRoot = "trireme/";

Security security_of(const JobAddress& address) {
  if (!address.etcd.empty()) {
    const bool own = address.etcd_credentials.empty();
    return etcd_security(address.etcd, own ? address.credentials : address.etcd_credentials);
  }
  if (!address.credentials.empty()) {
    return read_credentials(address.credentials, seconds_since_1970());
  }
  const char* const token = std::getenv("TRIREME_JOB_TOKEN");
  return {.token = token == nullptr ? "" : token};
}

// Returns the first parts of "trireme/clicks/7/...", with a slash at the end; nothing if it has
// fewer.
std::optional<std::string> first_parts(const std::string& key, int parts) {
  std::size_t end = 0;
  for (int i = 0; i < parts && end != std::string::npos; ++i) {
    end = key.find('/', end);
    if (end != std::string::npos) ++end;
  }
  return end == std::string::npos ? std::nullopt : std::optional(key.substr(0, end));
}

// Prefixes of jobs: one read for each, not one for each of their keys.
std::vector<std::string> prefixes(Store& store) {
  std::vector<std::string> found;
  std::string after;
  for (;;) {
    const Outcome outcome = store.commit({.then = {Get{kRoot, true, after, 1}}});
    if (outcome.got.at(0).empty()) return found;
    const std::string& key = outcome.got[0][0].key;
    const std::optional<std::string> prefix = first_parts(key, 3);
    if (prefix) found.push_back(*prefix);
    // No key of a job has such a byte after its prefix.
    after = prefix ? *prefix + '\xff' : key;
  }
}

std::string named(const StoredJob& job) { return job.name + " (--id " + job.id + ")"; }

std::string names_of(const std::vector<StoredJob>& jobs) {
  std::string names;
  for (const StoredJob& job : jobs) names += (names.empty() ? "" : ", ") + named(job);
  return names;
}

// The jobs of that name if there are any, else those whose name begins with it; of these, those
// with that id.
std::vector<StoredJob> fitting(const std::vector<StoredJob>& all, const std::string& name,
                               const std::string& id) {
  std::vector<StoredJob> exact, begin;
  for (const StoredJob& job : all) {
    if (job.name == name) exact.push_back(job);
    else if (job.name.starts_with(name)) begin.push_back(job);
  }
  std::vector<StoredJob>& fit = exact.empty() ? begin : exact;
  std::erase_if(fit, [&](const StoredJob& job) { return !id.empty() && job.id != id; });
  return fit;
}

}  // namespace

std::unique_ptr<Store> open_store(const JobAddress& address, Milliseconds timeout) {
  if (address.etcd.empty() == address.store.empty()) {
    fail_usage("either --etcd or --store says where the job's keys are");
  }
  return connect_etcd({.address = address.etcd.empty() ? address.store : address.etcd,
                       .timeout = timeout,
                       .security = security_of(address)});
}

StoredJob read_stored_job(Store& store, const std::string& prefix) {
  StoredJob job{.prefix = prefix};
  const std::size_t end = prefix.size() - 1, middle = prefix.rfind('/', end - 1);
  if (prefix.starts_with(kRoot) && middle != std::string::npos && middle > 0) {
    const std::size_t begin = prefix.rfind('/', middle - 1) + 1;
    job.name = prefix.substr(begin, middle - begin);
    job.id = prefix.substr(middle + 1, end - middle - 1);
  }
  for (const ProcessEntry& process : ProcessRegistry(store, prefix).list()) {
    if (process.role == "launcher") ++job.launchers;
    if (process.role == "master") ++job.masters;
    if (process.role == "server") ++job.servers;
    if (process.role == "trainer") ++job.trainers;
    job.since = job.since == 0 ? process.since : std::min(job.since, process.since);
  }
  const Outcome outcome = store.commit({.then = {Get{prefix + "done"}, Get{stopped_key(prefix)}}});
  job.done = !outcome.got.at(0).empty();
  job.stopped = !outcome.got.at(1).empty();
  return job;
}

std::vector<StoredJob> stored_jobs(Store& store) {
  std::vector<StoredJob> jobs;
  for (const std::string& prefix : prefixes(store)) jobs.push_back(read_stored_job(store, prefix));
  return jobs;
}

StoredJob find_stored_job(Store& store, const std::string& name, const std::string& id) {
  const std::vector<StoredJob> all = stored_jobs(store);
  std::vector<StoredJob> fit = fitting(all, name, id);
  if (fit.size() > 1) {
    std::vector<StoredJob> living;
    std::copy_if(fit.begin(), fit.end(), std::back_inserter(living),
                 [](const StoredJob& job) { return job.lives(); });
    if (living.size() != 1)
      fail_usage("several jobs have keys there: say which, of " + names_of(fit));
    fit = living;
  }
  if (fit.size() == 1) return fit[0];
  const std::string what =
      name.empty() && id.empty() ? "no job has keys there" : "no such job has keys there";
  fail(ErrorKind::not_found, all.empty() ? fmt::format("{}: below {} there is nothing", what, kRoot)
                                         : fmt::format("{}, but {}", what, names_of(all)));
}

}  // namespace trireme::distributed
