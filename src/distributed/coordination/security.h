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

// The name in the certificates of a job, independent of the addresses of servers.
inline constexpr const char* kCertificateName = "trireme-job";
// Roles of processes with certificates of their own: the DNS name of a role in a certificate is
// "trainer.trireme-job". A certificate without a role may do everything.
inline constexpr const char* kRoles[] = {"master", "server", "trainer"};
inline std::string name_of_role(const std::string& role) { return role + "." + kCertificateName; }
// The role with this name; empty for another name.
std::string role_named(const std::string& name);

// Returns whether the host of "host:port" is loopback.
bool is_loopback(const std::string& address);
// Errors: usage if the security is insufficient for the address: loopback needs a token or
// certificates, other addresses need certificates. Also if a part of the certificates is missing.
void check_security(const std::string& address, const Security& security);
// For a client of a store at one or more addresses, separated by commas. Errors: usage without
// certificates, unless all are loopback: a token would be sent in clear; or if a part of the
// certificates is missing.
void check_store_security(const std::string& addresses, const Security& security);

}  // namespace trireme::distributed
