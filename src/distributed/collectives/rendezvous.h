#pragma once

// How the members of a group that is being formed find each other: each puts what it has to tell
// under its own key, and waits for those of the others.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

class Rendezvous {
 public:
  using Clock = std::chrono::steady_clock;

  // Keys go below `prefix`, which no other group uses, on a lease that ends when the object does,
  // or by itself within half a minute. The store outlives the object. `cancelled`, if given, is
  // asked while waiting.
  Rendezvous(Store& store, std::string prefix, Clock::time_point deadline,
             std::function<bool()> cancelled = {});
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // With random bytes beside it.
  void publish(const std::string& name, const std::string& value);
  // What was published under the name, waited for. Errors: io, if it is not there by the deadline,
  // or cancelled.
  std::string fetch(const std::string& name);
  // Published by now, if `name` is.
  bool has(const std::string& name);
  // The same for all who published and fetched the same names, and for nobody who cannot read the
  // store.
  std::string token() const;
  Clock::time_point deadline() const { return deadline_; }

 private:
  void take(const Entry& entry);
  void look(Milliseconds most);

  Store& store_;
  const std::string prefix_;
  const Clock::time_point deadline_;
  const std::function<bool()> cancelled_;
  const std::int64_t lease_;
  std::unique_ptr<Watch> watch_;
  std::map<std::string, std::string> values_;
};

}  // namespace trireme::distributed
