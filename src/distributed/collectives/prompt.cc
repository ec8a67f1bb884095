#include "distributed/collectives/prompt.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace trireme::distributed {
namespace {

constexpr std::uint64_t kMinSchedulerSlice = 100'000;  // ns, the least that the scheduler takes

// As in linux/sched/types.h, which cannot be included together with sched.h.
struct SocketAttributes {
  std::uint32_t size = sizeof(SocketAttributes), policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};

bool get(SocketAttributes& attributes) {
  return ::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0 &&
         attributes.policy == SCHED_OTHER;
}

bool set_slice(std::uint64_t nanoseconds) {
  SocketAttributes attributes;
  if (!get(attributes)) return false;
  attributes.runtime = nanoseconds;
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace

// Kernels without slices report none, and ignore the request.
Prompt::Prompt() {
  SocketAttributes attributes;
  if (get(attributes) && attributes.runtime > kMinSchedulerSlice && set_slice(kMinSchedulerSlice)) {
    before_ = attributes.runtime;
  }
}

Prompt::~Prompt() {
  if (before_ != 0) set_slice(before_);
}

}  // namespace trireme::distributed
