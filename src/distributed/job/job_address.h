#pragma once

// A running job by the store that it agrees by: what `trireme job` is told where no record is, as
// on other machines than launcher 0's, and on Kubernetes, where there is no launcher.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

struct JobAddress {
  std::string etcd;        // "HOST:PORT[,HOST:PORT]"; or
  std::string store = {};  // "HOST:PORT" of the launcher that serves it
  // Folders of certificates: of the job, and for etcd, for which the job's count if it has none.
  // Without any $TRIREME_JOB_TOKEN is shown to a launcher.
  std::string credentials = {}, etcd_credentials = {};
  std::string prefix = {};  // of the job's keys; empty: as its name and id say
  std::string id = {};  // what no other job of the name has; empty: there is one job of the name

  bool given() const { return !etcd.empty() || !store.empty(); }
};
// Errors: usage, for what says nothing, or too much; as etcd_security() and read_credentials().
std::unique_ptr<Store> open_store(const JobAddress& address, Milliseconds timeout);

// A job of an etcd, as its keys say.
struct StoredJob {
  std::string name, id, prefix;
  int launchers = 0, masters = 0, servers = 0, trainers = 0;  // that run
  std::int64_t since = 0;  // when the first of these began, in seconds of Unix time; 0: none runs
  bool done = false, stopped = false;
  // Whether anybody works for it: parameter servers alone do not.
  bool lives() const { return launchers + masters + trainers > 0; }
};
// Below `prefix`, whatever the name. Errors: Unavailable; data.
StoredJob read_stored_job(Store& store, const std::string& prefix);
// All below "trireme/NAME/ID/", by name and id. Errors: as above.
std::vector<StoredJob> stored_jobs(Store& store);
// The one that is meant, by its name, a beginning of it that fits one alone, or the only one if the
// name is empty; `id` may be empty. Of several those count that live. Errors: not_found, usage; as
// above.
StoredJob find_stored_job(Store& store, const std::string& name, const std::string& id);

}  // namespace trireme::distributed
