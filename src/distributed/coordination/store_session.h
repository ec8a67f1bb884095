#pragma once

// The keys of a process in the store during its lifetime. They are on a lease, and written again if
// the lease ends, for instance because the process was stopped or disconnected for long.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "distributed/coordination/lease_keeper.h"

namespace trireme::distributed {

class StoreSession {
 public:
  // Writes the keys on the lease. It is called again until it returns, and once more for each
  // further lease. It may be called twice for one lease. Unavailable is retried; any other error
  // stops it: check().
  using Enter = std::function<void(const LeaseKeeper& lease)>;

  // Enters. The store and everything that `enter` uses outlive the object. Errors: as Store::grant,
  // and of `enter`, Unavailable too.
  StoreSession(Store& store, std::int64_t seconds, Enter enter);
  ~StoreSession();  // ends the lease
  StoreSession(const StoreSession&) = delete;
  StoreSession& operator=(const StoreSession&) = delete;

  // --- These do not access the store
  // Returns whether other processes may consider this one dead.
  bool lost() const;
  // How often all keys of the lease were lost: others may have continued without this process.
  std::int64_t absences() const;
  std::int64_t first_lease() const { return first_lease_; }  // its number
  // Rethrows an error of `enter` that no retry can fix.
  void check() const;

  // --- These access the store. Errors: Unavailable; not_found if the lease has just ended; errors
  // of `enter` and `work`
  // Replaces `enter` and runs the new one with the lease at once.
  void become(Enter enter);
  void with(const Enter& work);

  // The thread of the session writes the value on the lease, soon and on each further lease.
  // Does not access the store.
  void publish(const std::string& key, std::string value);

 private:
  using Lease = std::shared_ptr<const LeaseKeeper>;
  void run();
  void poll();
  void write_published();
  Lease lease() const;

  Store& store_;
  const std::int64_t seconds_;
  std::mutex work_;  // locked during calls of the store
  Enter enter_;
  bool entered_ = false;
  std::map<std::string, std::string> written_;  // of published values, on the lease
  mutable std::mutex mutex_;                    // of the following members; never locked for long
  Lease lease_;                                 // always valid
  std::int64_t absences_ = 0;
  std::map<std::string, std::string> published_;  // by key
  std::exception_ptr failure_;
  bool stop_ = false;
  std::condition_variable wake_;
  std::int64_t first_lease_ = 0;
  std::thread thread_;
};

}  // namespace trireme::distributed
