#pragma once

// By what the processes of a job know each other.

#include <string>

namespace trireme::distributed {

struct Security {
  std::string token = {};  // the job's: servers ask it of every caller; empty: of none
  // Each the content of a PEM file: who signs the certificates of the job, and our own. With them
  // both sides prove who they are, and nobody else reads what they say.
  std::string authority = {}, certificate = {}, key = {};
  std::string name = {};  // in the certificates of servers, if it is not their address
};

// Whether the host of "host:port" is this machine alone.
bool is_loopback(const std::string& address);
// Errors: usage, for a token or certificates that are not enough for the address: on loopback a
// token or certificates, elsewhere certificates; and for certificates of which a part is missing.
void check_security(const std::string& address, const Security& security);

}  // namespace trireme::distributed
