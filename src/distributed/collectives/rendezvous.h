#pragma once

// How the members of a new group find each other: each publishes values under its own keys and
// waits for the keys of the others.

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

  // Keys are below `prefix`, which no other group uses, on a lease that ends with the object, or
  // expires within half a minute. The store outlives the object. `cancelled`, if set, is called
  // while waiting.
  Rendezvous(Store& store, std::string prefix, Clock::time_point deadline,
             std::function<bool()> cancelled = {});
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // Adds random bytes.
  void publish(const std::string& name, const std::string& value);
  // Waits for the value published under the name and returns it. Errors: io if it does not arrive
  // by the deadline, or if cancelled.
  std::string fetch(const std::string& name);
  // Whether the name is already published.
  bool has(const std::string& name);
  // Equal for all members that published and fetched the same names; secret to processes without
  // access to the store.
  std::string token() const;
  Clock::time_point deadline() const { return deadline_; }

 private:
  void take(const Entry& entry);
  void poll(Milliseconds timeout);

  Store& store_;
  const std::string prefix_;
  const Clock::time_point deadline_;
  const std::function<bool()> cancelled_;
  const std::int64_t lease_;
  std::unique_ptr<Watch> watch_;
  std::map<std::string, std::string> values_;
};

}  // namespace trireme::distributed
