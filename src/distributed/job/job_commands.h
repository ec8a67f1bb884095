#pragma once

// The operations of `trireme job` on a running job.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distributed/coordination/store.h"
#include "distributed/job/job_address.h"
#include "distributed/job/job_keys.h"
#include "distributed/job/job_record.h"

namespace trireme::distributed {

struct OpenJob {
  JobRecord record;
  std::unique_ptr<Store> store;
  // It was found by its store. The record then has the data of its launcher; without one, pid is 0.
  bool by_store = false;
};
// As find_job(). Each call to the store takes at most 3 s.
OpenJob open_job(const std::string& folder, const std::string& name);
// As find_stored_job(), unless the address has the prefix, or the store of a launcher, which has
// one job. Errors: also not_found if there are no keys; as Store.
OpenJob open_job(const JobAddress& address, const std::string& name);
// Whether a process still works for it. Errors: Unavailable for a job that was found by its store.
bool lives(const OpenJob& job);
// Whether a launcher starts and ends its processes; on Kubernetes the cluster does.
inline bool has_launcher(const OpenJob& job) { return job.record.pid != 0; }

// Orders the job to end and waits for that. Returns the result; nothing if the job was over before.
// Errors: Unavailable if neither its launcher nor, without one, a master answers. Waits up to
// `farewell` for these to end, too.
std::optional<StopReport> stop_job(const OpenJob& job, const StopOrder& order,
                                   Milliseconds farewell = std::chrono::seconds(15));

struct Scale {
  std::optional<int> trainers = {}, servers = {};  // unset: unchanged
};
// Writes the wanted numbers. Errors: usage for numbers that the job does not allow.
struct Scaled {
  Wanted before, now;
};
Scaled scale_job(const OpenJob& job, const Scale& scale);

// For people.
std::string text_of(const std::optional<StopReport>& report);
std::string text_of(const LastCheckpoint& last, const std::string& go_on);
std::string text_of(const JobListing& listing, std::int64_t now);
std::string text_of(const std::vector<StoredJob>& jobs, std::int64_t now);
// What to do by hand if no launcher starts and ends processes; else "".
std::string text_of_rest(const OpenJob& job, const Scaled& scaled);
// A JSON array of the running jobs, without the credentials of their stores.
std::string json_of(const JobListing& listing);
std::string json_of(const std::vector<StoredJob>& jobs);

}  // namespace trireme::distributed
