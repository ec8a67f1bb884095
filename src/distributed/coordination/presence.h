#pragma once

// What a process has in the store as long as it lives: on a lease, and there again when that has
// ended, as after the process was stopped or cut off for long.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "distributed/coordination/lease_keeper.h"

namespace trireme::distributed {

class Presence {
 public:
  // Puts on the lease what is to be there. Called again until it returns, and once more for each
  // further lease. May be asked twice for the same; Unavailable is tried again, any other error
  // ends it: check().
  using Enter = std::function<void(const LeaseKeeper& lease)>;

  // Enters. The store and what `enter` uses outlive the object. Errors: as Store::grant and of
  // `enter`, Unavailable too.
  Presence(Store& store, std::int64_t seconds, Enter enter);
  ~Presence();  // ends the lease
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

  // --- Without asking the store, at any time
  // Whether others may think that this process is gone.
  bool lost() const;
  // How often all that was on the lease was gone: others may have gone on without this process.
  std::int64_t absences() const;
  std::int64_t first_lease() const { return first_lease_; }  // its number
  // Throws what `enter` has thrown, if no later attempt would mend it.
  void check() const;

  // --- Ask the store. Errors: Unavailable; not_found, if the lease has just ended; of `enter` and `work`
  // From now on `enter` is this, and is done with the lease at once.
  void become(Enter enter);
  void with(const Enter& work);

 private:
  using Lease = std::shared_ptr<const LeaseKeeper>;
  void run();
  void look();
  Lease lease() const;

  Store& store_;
  const std::int64_t seconds_;
  std::mutex work_;  // held while the store is asked
  Enter enter_;
  bool entered_ = false;
  mutable std::mutex mutex_;  // of what follows; never held for long
  Lease lease_;               // there is always one
  std::int64_t absences_ = 0;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::condition_variable wake_;
  std::int64_t first_lease_ = 0;
  std::thread thread_;
};

}  // namespace trireme::distributed
