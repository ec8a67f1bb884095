#pragma once

// Somebody who has no business with a job and talks to one of its processes while it runs: bytes
// that are no HTTP/2, frames that are malformed, truncated, oversized, damaged or sent twice, a
// wrong token, a wrong certificate. All of it is refused, and the process counts it.

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>

#include "distributed/coordination/security.h"

namespace trireme::chaos {

// A process of a job that listens.
struct Target {
  std::string name;
  std::string service;  // of its frames
  std::string address;  // of its frames
  std::string metrics;  // address of its metrics, by HTTP
};
// Looks for it, by the job's store, which may be away: nothing then, or if it is gone. Called by
// another thread.
using FindTarget = std::function<std::optional<Target>()>;

struct Visit {
  std::string who;
  std::string wrong = {};  // what the process should not have done
  // Whether it was there all the time, so that its counters could be compared.
  bool compared = false;
  std::string text = {};  // what was sent and counted
};

// The whole visit. `security`: the job's, which is what a frame needs to be looked at.
Visit visit(const Target& target, const distributed::Security& security, std::uint64_t seed);

// A visit at a time, in a thread of its own.
class Strangers {
 public:
  void start(FindTarget find, const distributed::Security& security, std::uint64_t seed);
  bool busy() const { return visit_.valid(); }
  // What became of it, once, when it is over, or at once with `wait`.
  std::optional<Visit> over(bool wait = false);

 private:
  std::future<Visit> visit_;
};

}  // namespace trireme::chaos
