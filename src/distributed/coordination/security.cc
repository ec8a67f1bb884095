#include "distributed/coordination/security.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include "base/error.h"

namespace trireme::distributed {

bool is_loopback(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  in_addr number{};
  return ::inet_pton(AF_INET, host.c_str(), &number) == 1 && ntohl(number.s_addr) >> 24 == 127;
}

void check_security(const std::string& address, const Security& security) {
  const bool any =
      !security.authority.empty() || !security.certificate.empty() || !security.key.empty();
  const bool all =
      !security.authority.empty() && !security.certificate.empty() && !security.key.empty();
  if (any && !all) {
    fail_usage("certificates: the authority, the certificate and its key are all required");
  }
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
