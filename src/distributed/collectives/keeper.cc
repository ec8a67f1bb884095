#include "distributed/collectives/keeper.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kIdle{1000};            // between two checks without events
constexpr Milliseconds kKeeperRetryDelay{50};  // while the store is unavailable

}  // namespace

void Keeper::poke(Signal& signal) {
  {
    const std::lock_guard lock(signal.mutex);
    signal.poked = true;
  }
  signal.changed.notify_all();
}

Keeper::Keeper(Store& store, const ElasticOptions& options)
    : store_(store),
      options_(options),
      signal_(std::make_shared<Signal>()),
      liveness_(std::in_place, options.group.interface, options.group.address),
      generations_(store, {options.prefix, options.name, options.min_members, liveness_->address(),
                           options.settle, [signal = signal_] { poke(*signal); }}) {
  thread_ = std::thread([this] { run(); });
}

Keeper::~Keeper() {
  {
    const std::lock_guard lock(signal_->mutex);
    signal_->stop = true;
  }
  signal_->changed.notify_all();
  thread_.join();
  // Before the group announces its end: no member waits for this one.
  liveness_.reset();
  lease_.reset();
}

std::shared_ptr<Group> Keeper::group() const {
  const std::lock_guard lock(signal_->mutex);
  return group_ != nullptr && !group_->broken() ? group_ : nullptr;
}

std::shared_ptr<Group> Keeper::wait_after(std::int64_t number, Clock::time_point deadline) {
  std::unique_lock lock(signal_->mutex);
  const bool there = signal_->changed.wait_until(lock, deadline, [&] {
    return failure_ != nullptr || (group_ != nullptr && group_->generation() > number);
  });
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  if (!there) {
    throw Unavailable(fmt::format("no group of at least {} members has formed below {} within {} s",
                                  options_.min_members, options_.prefix,
                                  static_cast<double>(options_.patience.count()) / 1000));
  }
  return group_;
}

bool Keeper::in_all_since(std::int64_t number) const {
  const std::lock_guard lock(signal_->mutex);
  return since_ <= number;
}

void Keeper::run() {
  for (;;) {
    Milliseconds next = kKeeperRetryDelay;
    try {
      next = poll();
    } catch (const Unavailable&) {
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found) return end(std::current_exception());
    }  // else the lease expired; the keeper notices it soon
    std::unique_lock lock(signal_->mutex);
    signal_->changed.wait_for(lock, next, [this] { return signal_->stop || signal_->poked; });
    signal_->poked = false;
    if (signal_->stop) return;
  }
}

void Keeper::end(std::exception_ptr failure) {
  {
    const std::lock_guard lock(signal_->mutex);
    failure_ = std::move(failure);
  }
  signal_->changed.notify_all();
}

// Returns the most time until the next check.
Milliseconds Keeper::poll() {
  liveness_->answer();
  renew_lease();
  const Generation current = generations_.current();
  if (current.number > taken_) take(current);
  std::shared_ptr<Group> group;
  {
    const std::lock_guard lock(signal_->mutex);
    group = group_;
  }
  const bool whole = group != nullptr && !group->broken();
  if (whole && !generations_.called()) return kIdle;
  if (whole) group->abort(fmt::format("generation {} is being formed", current.number + 1));
  generations_.answer(*lease_);
  return generations_.propose().value_or(kIdle);
}

void Keeper::renew_lease() {
  if (lease_ != nullptr && lease_->ended()) {
    lease_.reset();
    joined_ = false;
  }
  if (lease_ == nullptr) {
    lease_ = std::make_unique<LeaseKeeper>(
        store_, LeaseOptions{options_.lease, [signal = signal_] { poke(*signal); }});
  }
  if (joined_) return;
  generations_.join(*lease_);
  joined_ = true;
}

void Keeper::take(const Generation& generation) {
  taken_ = generation.number;
  const int rank = generation.rank_of(options_.name);
  std::shared_ptr<Group> former;
  {
    const std::lock_guard lock(signal_->mutex);
    former.swap(group_);
    since_ =
        rank < 0 ? generation.number + 1 : generation.members[static_cast<std::size_t>(rank)].since;
  }
  if (former != nullptr) {
    former->abort(fmt::format("generation {} has been formed", generation.number));
    former.reset();
  }
  if (rank >= 0) form(generation, rank);
}

// Leaves no group if it fails; then it requests the next one.
void Keeper::form(const Generation& generation, int rank) {
  GroupOptions options = options_.group;
  options.on_broken = [signal = signal_] { poke(*signal); };
  options.cancelled = [this, number = generation.number] {
    {
      const std::lock_guard lock(signal_->mutex);
      if (signal_->stop) return true;
    }
    return generations_.called() || generations_.current().number != number;
  };
  try {
    auto group =
        std::make_shared<Group>(store_, options_.prefix + "connect/", generation.number, rank,
                                static_cast<int>(generation.members.size()), options);
    const std::lock_guard lock(signal_->mutex);
    group_ = std::move(group);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) throw;
  }
  signal_->changed.notify_all();
}

}  // namespace trireme::distributed
