#pragma once

// Addresses as text, and those of this machine.

#include <string>

#include "distributed/coordination/security.h"

namespace trireme::distributed {

// "host:port"; with brackets around an IPv6 address.
std::string joined_address(const std::string& host, int port);
// Of "host:port". Errors: usage, if it is none.
std::string host_of(const std::string& address);
int port_of(const std::string& address);
// Errors: usage, with `what` in front, if it is no "host:port".
void check_address(const std::string& address, const std::string& what);

// Where the processes of this machine listen, and are reached.
struct OwnAddress {
  std::string host = "127.0.0.1";  // an IP address, as it stands in "host:port"
  std::string interface = {};      // that has it, by name; empty: it was given by address
  bool loopback = true;
};
// Of a network interface, "eth0", or, if `bind` is not empty, that IP address. Errors: usage, for
// one that this machine has not, and for an address that others cannot reach, such as 0.0.0.0.
OwnAddress own_address(const std::string& interface, const std::string& bind);

// The name of this machine, for people.
std::string machine_name();

}  // namespace trireme::distributed
