#pragma once

// The wire between two network namespaces: this process is in one of them, with the store; of all
// others every second one is in the other. namespaces.sh makes them.

#include <string>
#include <vector>

namespace trireme::chaos {

class Network {
 public:
  // `other`: that namespace; empty: there is no such wire. The wire's device is called "wire" in
  // both. Errors: io, where iptables or tc do not work.
  explicit Network(std::string other);

  bool there() const { return !other_.empty(); }
  // What makes a command run over there.
  std::vector<std::string> over_there(const std::vector<std::string>& command) const;

  // Each until it is called again with `false`.
  void part(bool on) const;                 // nothing passes
  void lose(bool on) const;                 // every twentieth packet is lost, both ways
  void narrow(bool on, double rate) const;  // bytes a second, both ways

 private:
  void on_both(const std::string& command) const;
  const std::string other_;
};

}  // namespace trireme::chaos
