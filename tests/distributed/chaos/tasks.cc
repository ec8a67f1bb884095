#include "tasks.h"

#include <chrono>
#include <cstdio>

#include "distributed/control/testing/count_trainer.h"

namespace trireme::chaos {

using namespace distributed;

void report_progress(std::int64_t tasks) {
  const std::chrono::nanoseconds time = std::chrono::steady_clock::now().time_since_epoch();
  std::printf("progress %lld %lld\n", static_cast<long long>(tasks),
              static_cast<long long>(time.count()));
  std::fflush(stdout);
}

void Attendance::stay() {
  if (session_) return session_->check();
  try {
    session_.emplace(store_, 5, [this](const LeaseKeeper& lease) {
      ProcessRegistry(store_, options_.prefix)
          .join({.name = options_.name, .role = "trainer"}, lease);
    });
  } catch (const Unavailable&) {
  }
}

void Attendance::leave() { session_.reset(); }

bool Attendance::was_away() {
  const std::int64_t absences = session_ ? session_->absences() : 0;
  return std::exchange(absences_, absences) != absences;
}

namespace {

void report_again(const Task& task) {
  std::printf("again %lld\n", static_cast<long long>(task.id));
  std::fflush(stdout);
}

}  // namespace

Batches::Batches(Store& store, distributed::Network& network, const RoleOptions& options,
                 std::int64_t size)
    : size_(size),
      client_(store, network,
              {.prefix = options.prefix, .name = options.name, .security = security_of(options)}),
      at_(CountTrainer::kTask) {
  client_.on_lost(report_again);
}

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
  if (task.again) report_again(task);
  at_ = 0;
  return true;
}

void Batches::next() {
  if (batch_.empty()) return;
  at_ += size_;
  batch_.clear();
  if (at_ < CountTrainer::kTask) return;
  report_progress(client_.finish(taken_.tasks));
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
