#pragma once

// A port that listens as long as this process lives, so that others can tell one that is dead from
// one that is slow: when a process ends, its machine refuses connections there at once.

#include <string>

#include "distributed/collectives/endpoint.h"

namespace trireme::distributed {

class LifeSign {
 public:
  // At the interface, by its name, or else the IP address. If it cannot listen there, nobody can
  // tell: no error.
  LifeSign(const std::string& interface, const std::string& address)
      : listener_(interface, address) {}

  const std::string& address() const { return listener_.address(); }
  void answer();  // lets go of those who have asked

 private:
  Listener listener_;
};

// Whether nobody listens at the address of a life sign any more, by word of its machine. Asks for
// 50 ms at most; what is not known is false.
bool is_gone(const std::string& address);

}  // namespace trireme::distributed
