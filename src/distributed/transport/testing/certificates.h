#pragma once

// For tests: an authority and certificates that it signed, made with openssl.

#include <string>

#include "distributed/coordination/security.h"

namespace trireme::distributed::testing {

class Authority {
 public:
  // Errors: not_found if openssl is not installed.
  Authority();
  ~Authority();
  // Makes a certificate for `name`, for both servers and callers.
  Security certify(const std::string& name);

 private:
  std::string folder_;
  int count_ = 0;
};

}  // namespace trireme::distributed::testing
