#pragma once

// A copy of the entries below a prefix, which a thread keeps up to date by a watch: readers never
// wait for the store.

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

// Thread-safe.
class KeyWatcher {
 public:
  using Entries = std::map<std::string, Entry>;  // by key
  // The thread calls it with all entries at the start, after each change, and after an
  // interruption. If it throws Unavailable, it is called again.
  using OnChange = std::function<void(const Entries& entries)>;

  // The store and what `on_change` uses outlive the object.
  KeyWatcher(Store& store, std::string prefix, OnChange on_change = {});
  ~KeyWatcher();
  KeyWatcher(const KeyWatcher&) = delete;
  KeyWatcher& operator=(const KeyWatcher&) = delete;

  // Returns the entry as it was read last: nothing before the first answer of the store.
  std::optional<Entry> get(const std::string& key) const;
  // Waits until the entries differ from those at the end of the last wait(), or the time is over.
  // For one thread.
  void wait(Milliseconds timeout);
  // Rethrows an error of the store or of `on_change` that ended the thread.
  void check() const;

 private:
  void run();
  void follow();
  void changed();

  Store& store_;
  const std::string prefix_;
  const OnChange on_change_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  Entries entries_;                        // only the thread writes it
  std::int64_t changes_ = 0, waited_ = 0;  // the number of changes, and its value after wait()
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace trireme::distributed
