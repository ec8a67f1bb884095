#include "distributed/coordination/security.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace trireme::distributed {

std::string role_named(const std::string& name) {
  for (const char* role : kRoles) {
    if (name == name_of_role(role)) return role;
  }
  return "";
}

bool is_loopback(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  in_addr number{};
  return ::inet_pton(AF_INET, host.c_str(), &number) == 1 && ntohl(number.s_addr) >> 24 == 127;
}

namespace {

// Returns whether there are certificates. Errors: usage if a part of them is missing.
bool has_certificates(const Security& security) {
  const bool any =
      !security.authority.empty() || !security.certificate.empty() || !security.key.empty();
  const bool all =
      !security.authority.empty() && !security.certificate.empty() && !security.key.empty();
  if (any && !all) {
    fail_usage("certificates: the authority, the certificate and its key are all required");
  }
  return all;
}

}  // namespace

void check_store_security(const std::string& addresses, const Security& security) {
  if (has_certificates(security)) return;
  for (std::size_t begin = 0; begin <= addresses.size();) {
    const std::size_t end = std::min(addresses.find(',', begin), addresses.size());
    const std::string address = addresses.substr(begin, end - begin);
    begin = end + 1;
    if (is_loopback(address)) continue;
    fail_usage(fmt::format(
        "the store at {} is on another machine: {}\n  hint   --credentials DIR with the job's "
        "ca.crt, tls.crt and tls.key; or run the command on that machine",
        address,
        security.token.empty() ? "both sides need certificates there"
                               : "the job's token is not sent there in clear"));
  }
}

void check_security(const std::string& address, const Security& security) {
  const bool all = has_certificates(security);
  if (!all && !is_loopback(address)) {
    fail_usage(fmt::format(
        "the address {} can be reached from other machines: both sides need certificates there",
        address));
  }
  if (!all && security.token.empty()) {
    fail_usage(fmt::format("the address {} needs the job's token or certificates", address));
  }
}

}  // namespace trireme::distributed
