#pragma once

// What `trireme job` does with a job that runs.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "distributed/coordination/store.h"
#include "distributed/job/job_keys.h"
#include "distributed/job/job_record.h"

namespace trireme::distributed {

struct OpenJob {
  JobRecord record;
  std::unique_ptr<Store> store;
};
// As find_job(). Its calls take 3 s at most each.
OpenJob open_job(const std::string& folder, const std::string& name);

// Asks the job to end in good order and waits for that. What has become of it; nothing if the job was over before. Errors:
// Unavailable, if its launcher does not answer. Waits up to `farewell` for the launcher to be gone, too.
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
// A JSON array of those that run, without what their stores are asked with.
std::string json_of(const JobListing& listing);

}  // namespace trireme::distributed
