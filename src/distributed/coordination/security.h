#pragma once

// How the processes of a job authenticate each other.

#include <string>

namespace trireme::distributed {

struct Security {
  std::string token = {};  // of the job: servers require it of every caller; empty: of none
  // Each is the content of a PEM file: the authority of the job, our certificate and its key. With
  // them both sides authenticate each other, and the connection is encrypted.
  std::string authority = {}, certificate = {}, key = {};
  std::string name = {};  // in the certificates of servers, if it differs from their address
};

// Returns whether the host of "host:port" is loopback.
bool is_loopback(const std::string& address);
// Errors: usage if the security is insufficient for the address: loopback needs a token or
// certificates, other addresses need certificates. Also if a part of the certificates is missing.
void check_security(const std::string& address, const Security& security);

}  // namespace trireme::distributed
