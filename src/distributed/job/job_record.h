#pragma once

// The jobs that launchers of this user run, as files in a private folder: what `trireme job` needs
// to talk to them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace trireme::distributed {

struct JobRecord {
  std::string name;                                     // what the job is called; a file's name
  std::string job;                                      // the job's file
  std::string store;                                    // address of its store
  bool etcd = false;                                    // which is etcd
  std::string prefix = "job/";                          // of its keys
  std::string token = {};                               // the job's
  std::string credentials = {}, etcd_credentials = {};  // folders of certificates
  // Of the launcher.
  std::string host = {};
  std::int64_t pid = 0;
  std::int64_t since = 0;    // seconds of Unix time
  std::string process = {};  // tells it from a later process of the same number
};

// Where they lie: $TRIREME_JOBS, else $XDG_STATE_HOME/trireme/jobs, else
// ~/.local/state/trireme/jobs. Errors: usage, if none of these is named.
std::string jobs_folder();

// A record that is there as long as the object. The file is its owner's alone (0600), and so is the
// folder (0700).
class JobEntry {
 public:
  // Of this process, host and pid being filled in. The record's name gets a number behind it if a
  // job that runs has it. Errors: io, if it cannot be written, or others may write into the folder.
  JobEntry(const std::string& folder, JobRecord record);
  ~JobEntry();
  JobEntry(const JobEntry&) = delete;
  JobEntry& operator=(const JobEntry&) = delete;

  const JobRecord& record() const { return record_; }

 private:
  const std::string folder_;
  JobRecord record_;
};

// What the records of a folder say; by name. Those of launchers that have died on this machine
// without a word are `dead`. Files that are no records are passed over. Errors: io.
struct JobListing {
  std::vector<JobRecord> running, dead;
};
JobListing job_records(const std::string& folder);
// Removes a dead one, unless it is another launcher's by now.
void forget(const std::string& folder, const JobRecord& record);
// Whether the launcher lives; unknown, and so true, of another machine's.
bool lives(const JobRecord& record);

// The one that is meant: by its name, a beginning of it that fits one alone, or the only one if the
// name is empty. Errors: not_found, usage.
JobRecord find_job(const std::string& folder, const std::string& name);

}  // namespace trireme::distributed
