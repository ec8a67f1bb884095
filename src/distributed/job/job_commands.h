#pragma once

// What `trireme job` does with a job that runs.

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
  // It was found by its store. The record then says what processes tell there: of a launcher, if
  // there is one, else pid is 0.
  bool by_store = false;
};
// As find_job(). Its calls take 3 s at most each.
OpenJob open_job(const std::string& folder, const std::string& name);
// As find_stored_job(), unless the address says the prefix, or a launcher's store, which has one
// job. Errors: also not_found, if there are no keys; as Store.
OpenJob open_job(const JobAddress& address, const std::string& name);
// Whether anybody still works for it. Errors: Unavailable, of one that was found by its store.
bool lives(const OpenJob& job);
// Whether a launcher starts and ends its processes; on Kubernetes the cluster does.
inline bool has_launcher(const OpenJob& job) { return job.record.pid != 0; }

// Asks the job to end in good order and waits for that. What has become of it; nothing if the job
// was over before. Errors: Unavailable, if neither its launcher nor, where there is none, a master
// answers. Waits up to `farewell` for these to be gone, too.
std::optional<StopReport> stop_job(const OpenJob& job, const StopOrder& order,
                                   Milliseconds farewell = std::chrono::seconds(15));

struct Scale {
  std::optional<int> trainers = {}, servers = {};  // those that are to change
};
// Writes what is wanted from now on. Errors: usage, for what the job may not have.
struct Scaled {
  Wanted before, now;
};
Scaled scale_job(const OpenJob& job, const Scale& scale);

// For people.
std::string text_of(const std::optional<StopReport>& report);
std::string text_of(const LastCheckpoint& last, const std::string& go_on);
std::string text_of(const JobListing& listing, std::int64_t now);
std::string text_of(const std::vector<StoredJob>& jobs, std::int64_t now);
// What is left to be done by hand where no launcher starts and ends processes; else "".
std::string text_of_rest(const OpenJob& job, const Scaled& scaled);
// A JSON array of those that run, without what their stores are asked with.
std::string json_of(const JobListing& listing);
std::string json_of(const std::vector<StoredJob>& jobs);

}  // namespace trireme::distributed
