#pragma once

// A port that listens as long as this process lives, so that other members can distinguish a failed
// process from a slow one: when a process ends, its machine refuses connections at once.

#include <string>

#include "distributed/collectives/endpoint.h"

namespace trireme::distributed {

class LivenessListener {
 public:
  // Listens at the interface of that name, or else at the IP address. If it cannot listen, other
  // members cannot distinguish the cases; this is no error.
  LivenessListener(const std::string& interface, const std::string& address)
      : listener_(interface, address) {}

  const std::string& address() const { return listener_.address(); }
  void answer();  // closes the connections of those that asked

 private:
  Listener listener_;
};

// Whether the machine of a life sign reports that no process listens there any more. Takes at most
// 50 ms; returns false if it does not know.
bool is_gone(const std::string& address);

}  // namespace trireme::distributed
