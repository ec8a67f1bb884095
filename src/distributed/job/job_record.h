#pragma once

// The jobs of the launchers of this user, as files in a private folder: what `trireme job` needs to
// reach them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace trireme::distributed {

struct JobRecord {
  std::string name;                                     // of the job; valid as a file name
  std::string job;                                      // the job file
  std::string store;                                    // address of its store
  bool etcd = false;                                    // which is etcd
  std::string prefix = "job/";                          // of its keys
  std::string token = {};                               // of the job
  std::string credentials = {}, etcd_credentials = {};  // folders of certificates
  // Of the launcher.
  std::string host = {};
  std::int64_t pid = 0;
  std::int64_t since = 0;    // seconds of Unix time
  std::string process = {};  // distinguishes it from a later process of the same number
};

// The folder: $TRIREME_JOBS, else $XDG_STATE_HOME/trireme/jobs, else ~/.local/state/trireme/jobs.
// Errors: usage if none of these is set.
std::string jobs_folder();

// A record that exists as long as the object. Only the owner can read the file (0600) and the
// folder (0700).
class JobEntry {
 public:
  // For this process; host and pid are filled in. The name gets a number at the end if a running
  // job has it. Errors: io if it cannot be written, or others may write into the folder.
  JobEntry(const std::string& folder, JobRecord record);
  ~JobEntry();
  JobEntry(const JobEntry&) = delete;
  JobEntry& operator=(const JobEntry&) = delete;

  const JobRecord& record() const { return record_; }

 private:
  const std::string folder_;
  JobRecord record_;
};

// The records of a folder, by name. Those of launchers that failed on this machine are `dead`.
// Other files are skipped. Errors: io.
struct JobListing {
  std::vector<JobRecord> running, dead;
};
JobListing job_records(const std::string& folder);
// Removes a dead record, unless another launcher has it now.
void forget(const std::string& folder, const JobRecord& record);
// Whether the launcher lives; unknown, therefore true, for another machine.
bool lives(const JobRecord& record);

// Finds a record by name, by a unique beginning of the name, or the only one if the name is empty.
// Errors: not_found, usage.
JobRecord find_job(const std::string& folder, const std::string& name);

}  // namespace trireme::distributed
