#pragma once

// An unauthorized caller that talks to a process of a job while it runs: bytes that are no HTTP/2,
// frames that are malformed, truncated, oversized, damaged or repeated, a wrong token, a wrong
// certificate. All are refused, and the process counts them.

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>

#include "distributed/coordination/security.h"

namespace trireme::chaos {

// A listening process of a job.
struct Target {
  std::string name;
  std::string service;  // of its frames
  std::string address;  // of its frames
  std::string metrics;  // address of its metrics, by HTTP
};
// Finds it by the store of the job; nothing if the store is unavailable or the process is gone.
// Another thread calls it.
using FindTarget = std::function<std::optional<Target>()>;

struct Visit {
  std::string who;
  std::string wrong = {};  // mistakes of the process
  // Whether it ran all the time, so that its counters could be compared.
  bool compared = false;
  std::string text = {};  // what was sent and counted
};

// One visit. `security`: that of the job, without which frames are not read.
Visit visit(const Target& target, const distributed::Security& security, std::uint64_t seed);

// One visit at a time, in a separate thread.
class Strangers {
 public:
  void start(FindTarget find, const distributed::Security& security, std::uint64_t seed);
  bool busy() const { return visit_.valid(); }
  // Returns the result once, when it is over, or at once with `wait`.
  std::optional<Visit> over(bool wait = false);

 private:
  std::future<Visit> visit_;
};

}  // namespace trireme::chaos
