#pragma once

// A running job by the address of its store: for `trireme job` without a record, such as on other
// machines than that of launcher 0, and on Kubernetes, where there is no launcher.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

struct JobAddress {
  std::string etcd;        // "HOST:PORT[,HOST:PORT]"; or
  std::string store = {};  // "HOST:PORT" of the launcher that serves it
  // Folders of certificates: of the job, and of etcd; without the latter, those of the job are
  // used. Without certificates, $TRIREME_JOB_TOKEN is the token for a launcher.
  std::string credentials = {}, etcd_credentials = {};
  std::string prefix = {};  // of the keys of the job; empty: from its name and id
  std::string id = {};      // unique among jobs of the name; empty: there is only one

  bool given() const { return !etcd.empty() || !store.empty(); }
};
// Errors: usage for missing or contradictory parts; as etcd_security() and read_credentials().
std::unique_ptr<Store> open_store(const JobAddress& address, Milliseconds timeout);

// A job in an etcd, by its keys.
struct StoredJob {
  std::string name, id, prefix;
  int launchers = 0, masters = 0, servers = 0, trainers = 0;  // running processes
  std::int64_t since = 0;  // start of the first of these, in seconds of Unix time; 0: none runs
  bool done = false, stopped = false;
  // Whether a process works for it: parameter servers alone do not.
  bool lives() const { return launchers + masters + trainers > 0; }
};
// Reads the keys below `prefix`, for any name. Errors: Unavailable; data.
StoredJob read_stored_job(Store& store, const std::string& prefix);
// All jobs below "trireme/NAME/ID/", by name and id. Errors: as above.
std::vector<StoredJob> stored_jobs(Store& store);
// Finds a job by its name, by a unique beginning of its name, or the only job if the name is empty;
// `id` may be empty. Of several, only running ones count. Errors: not_found, usage; as above.
StoredJob find_stored_job(Store& store, const std::string& name, const std::string& id);

}  // namespace trireme::distributed
