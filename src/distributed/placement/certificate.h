#pragma once

// Certificates as PEM texts. Only this code uses OpenSSL.

#include <cstdint>
#include <string>
#include <vector>

#include "distributed/coordination/security.h"

namespace trireme::distributed {

// Makes an authority and a certificate for each list of DNS names, for servers and clients, all
// valid from `begins` to `expires` (seconds since 1970). The first name is that of the subject.
// Errors: internal.
std::vector<Security> make_certificates(const std::vector<std::vector<std::string>>& names,
                                        std::int64_t begins, std::int64_t expires);

struct CertificateFacts {
  bool signed_by_authority = false, key_fits = false;
  std::int64_t begins = 0,
               expires = 0;  // of the certificate or its authority, whichever is shorter
};
// Errors: usage, beginning with `where`, for a text that is no certificate or no key.
CertificateFacts facts_of(const Security& security, const std::string& where);

// Whether the certificate is for that DNS name.
bool has_name(const Security& security, const std::string& name);

// "2026-01-31 12:00 UTC".
std::string time_text(std::int64_t seconds);

}  // namespace trireme::distributed
