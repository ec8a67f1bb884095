#pragma once

// A port that listens as long as this process lives, so that others can tell one that is dead from one that is slow:
// when a process ends, its machine refuses connections there at once.

#include <string>

namespace trireme::distributed {

class LifeSign {
 public:
  // At the interface, by its name, or else the IP address. If it cannot listen there, nobody can tell: no error.
  LifeSign(const std::string& interface, const std::string& address);
  ~LifeSign();
  LifeSign(const LifeSign&) = delete;
  LifeSign& operator=(const LifeSign&) = delete;

  std::string address() const { return address_; }  // "127.0.0.1:4242"; "-" if it does not listen
  void answer();                                    // lets go of those who have asked

 private:
  int socket_ = -1;
  std::string address_ = "-";
};

// Whether nobody listens at the address of a life sign any more, by word of its machine. Asks for 50 ms at most; what
// is not known is false.
bool is_gone(const std::string& address);

}  // namespace trireme::distributed
