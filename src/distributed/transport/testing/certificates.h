#pragma once

// An authority and certificates that it signed, for tests, made by openssl.

#include <string>

#include "distributed/coordination/security.h"

namespace trireme::distributed::testing {

class Authority {
 public:
  // Errors: not_found, where there is no openssl.
  Authority();
  ~Authority();
  // A new certificate for servers and their callers alike, in the name of `name`.
  Security certify(const std::string& name);

 private:
  std::string folder_;
  int count_ = 0;
};

}  // namespace trireme::distributed::testing
