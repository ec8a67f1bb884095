#pragma once

// The connection between two network namespaces: this process and the store are in one of them, and
// every second other process is in the other. namespaces.sh makes them.

#include <string>
#include <vector>

namespace trireme::chaos {

class Network {
 public:
  // `other`: that namespace; empty: there is none. The device is called "wire" in both. Errors: io
  // if iptables or tc do not work.
  explicit Network(std::string other);

  bool there() const { return !other_.empty(); }
  // Returns the command that runs `command` there.
  std::vector<std::string> over_there(const std::vector<std::string>& command) const;

  // Each lasts until a call with `false`.
  void part(bool on) const;                 // no packets
  void lose(bool on) const;                 // every twentieth packet is lost in both directions
  void narrow(bool on, double rate) const;  // bytes a second in both directions

 private:
  void on_both(const std::string& command) const;
  const std::string other_;
};

}  // namespace trireme::chaos
