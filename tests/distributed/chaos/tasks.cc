#include "tasks.h"

#include <cstdio>

#include "distributed/control/count_trainer_test.h"

namespace trireme::chaos {

using namespace distributed;

void Attendance::stay() {
  if (lease_ && !lease_->lost()) return;
  if (lease_) away_ = true;
  try {
    lease_.emplace(store_, LeaseOptions{.seconds = 5});
    Membership members(store_, options_.prefix);
    members.forget("trainer", options_.name);
    members.join("trainer", options_.name, "", *lease_);
  } catch (const Unavailable&) {
  }
}

void Attendance::leave() { lease_.reset(); }

Batches::Batches(Store& store, distributed::Network& network, const RoleOptions& options,
                 std::int64_t size)
    : size_(size),
      client_(store, network,
              {.prefix = options.prefix, .name = options.name, .security = security_of(options)}),
      at_(CountTrainer::kTask) {}

bool Batches::fill() {
  if (!batch_.empty() || (at_ == CountTrainer::kTask && !take())) return false;
  const std::int64_t first = std::stoll(taken_.tasks.front().data) + at_;
  for (std::int64_t i = 0; i < size_; ++i) batch_.push_back(static_cast<std::uint64_t>(first + i));
  return true;
}

bool Batches::take() {
  taken_ = client_.take(1);
  if (taken_.tasks.empty()) return false;
  const Task& task = taken_.tasks.front();
  if (task.again) {
    std::printf("again %lld\n", static_cast<long long>(task.id));
    std::fflush(stdout);
  }
  at_ = 0;
  return true;
}

void Batches::next() {
  if (batch_.empty()) return;
  at_ += size_;
  batch_.clear();
  if (at_ < CountTrainer::kTask) return;
  std::printf("progress %d\n", client_.finish(taken_.tasks));
  std::fflush(stdout);
}

void Batches::drop() {
  batch_.clear();
  at_ = CountTrainer::kTask;
}

void Batches::release() {
  client_.release();
  drop();
}

void Batches::forget_before(std::uint32_t rollbacks) {
  if (taken_.rollbacks < rollbacks) drop();
}

}  // namespace trireme::chaos
