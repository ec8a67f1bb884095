#pragma once

// Addresses as text, and the addresses of this machine.

#include <string>

#include "distributed/coordination/security.h"

namespace trireme::distributed {

// Returns "host:port"; an IPv6 address gets brackets.
std::string joined_address(const std::string& host, int port);
// Returns the host of "host:port". Errors: usage if it has another form.
std::string host_of(const std::string& address);
int port_of(const std::string& address);
// Errors: usage, beginning with `what`, if it is not "host:port".
void check_address(const std::string& address, const std::string& what);

// Where the processes of this machine listen.
struct OwnAddress {
  std::string host = "127.0.0.1";  // an IP address as in "host:port"
  std::string interface = {};      // its name; empty: the address was given
  bool loopback = true;
};
// Returns the address of a network interface, "eth0", or the IP address `bind` if that is not
// empty. Errors: usage if this machine does not have it, and for an address that others cannot
// reach, such as 0.0.0.0.
OwnAddress own_address(const std::string& interface, const std::string& bind);

// Returns the name of this machine, for messages.
std::string machine_name();

}  // namespace trireme::distributed
