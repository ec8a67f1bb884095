#include "distributed/coordination/handshakes.h"

#include <grpc/support/log.h>

#include <atomic>
#include <cstdio>
#include <string_view>

namespace trireme::distributed {
namespace {

std::atomic<std::uint64_t> failed{0};

// Lines that are not kept back by GRPC_VERBOSITY; errors are not by default.
void hear(gpr_log_func_args* line) {
  if (std::string_view(line->message).starts_with("Handshake failed")) ++failed;
  const std::string_view file(line->file);
  std::fprintf(stderr, "gRPC, %s:%d: %s\n", file.substr(file.rfind('/') + 1).data(), line->line,
               line->message);
}

}  // namespace

void count_failed_handshakes() { gpr_set_log_function(hear); }
std::uint64_t failed_handshakes() { return failed; }

}  // namespace trireme::distributed
