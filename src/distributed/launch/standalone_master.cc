#include "distributed/launch/standalone_master.h"

#include <fmt/core.h>

#include <cstdio>

#include "base/error.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/coordination/membership.h"
#include "distributed/job/job_status.h"
#include "distributed/master/task_queue.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kStandalonePoll{300};  // between two looks into the store

}  // namespace

void StopOrders::poll() {
  const Outcome outcome = store_.commit(
      {.then = {Get{stop_key(prefix_)}, Get{stopped_key(prefix_)},
                Get{last_checkpoint_key(prefix_)}, Get{TaskQueue::epoch_key(prefix_ + "task/")}}});
  const auto got = [&](std::size_t i) {
    const std::vector<Entry>& entries = outcome.got.at(i);
    return entries.empty() ? std::nullopt : std::optional(entries[0]);
  };
  if (const std::optional<Entry> stop = got(0)) {
    if (!order_) since_ = Clock::now();
    order_ = stop_order_of(stop->value);
  }
  stopped_ = got(1).has_value();
  last_ = got(2);
  begun_ = got(3).has_value();
}

bool StopOrders::ends() const {
  if (stopped_) return true;
  if (!order_) return false;
  return order_->checkpoint.count() == 0 || !begun_ || last_ ||
         Clock::now() >= since_ + order_->checkpoint;
}

std::optional<LastCheckpoint> StopOrders::last_checkpoint() const {
  if (!order_ || order_->checkpoint.count() == 0) return std::nullopt;
  if (last_) return last_checkpoint_of(last_->value);
  if (!begun_) return LastCheckpoint{.why = "nothing has been learned yet"};
  return LastCheckpoint{
      .why = lost_since(fmt::format("it was not there after {} s", order_->checkpoint.count()))};
}

// --- Of a trainer

StopWatch::StopWatch(const RoleOptions& options, std::function<void()> leave)
    : prefix_(options.prefix),
      leave_(std::move(leave)),
      store_(connect_etcd({.address = options.store, .security = options.store_security})),
      thread_([this] { run(); }) {}

StopWatch::~StopWatch() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool StopWatch::came() const {
  const std::lock_guard lock(mutex_);
  return came_;
}

void StopWatch::run() {
  StopOrders orders(*store_, prefix_);
  for (;;) {
    try {
      orders.poll();
    } catch (const Error&) {  // what was known holds
    }
    std::unique_lock lock(mutex_);
    came_ = orders.ends();
    if (came_) break;
    if (wake_.wait_for(lock, kStandalonePoll, [this] { return end_; })) return;
  }
  std::printf("the job is stopped: this process leaves\n");
  std::fflush(stdout);
  leave_();
}

// --- Of a master

StandaloneMaster::StandaloneMaster(Store& store, const RoleOptions& options)
    : store_(store), options_(options), orders_(store, options.prefix) {
  write_wanted();
}

void StandaloneMaster::write_wanted() {
  const std::string &job = options_.prefix, wanted = wanted_key(job);
  store_.commit({.when = {absent(wanted)},
                 .then = {Put{wanted, text_of(Wanted{options_.trainers, options_.servers})},
                          Put{limits_key(job), text_of(Limits{1, kMaxProcesses})}}});
}

bool StandaloneMaster::trainers_are_gone() {
  return Membership(store_, options_.prefix).members("trainer").empty();
}

bool StandaloneMaster::over() try {
  if (Clock::now() < next_) return false;
  next_ = Clock::now() + kStandalonePoll;
  orders_.poll();
  if (orders_.stopped()) throw JobStopped{"the job was stopped"};
  if (orders_.ends()) {
    if (!ending_) {
      ending_ = Clock::now();
      for (const ProcessEntry& process : processes(store_, options_.prefix)) {
        processes_ += process.role == "server" ? 0 : 1;
      }
    }
    if (trainers_are_gone() || Clock::now() >= *ending_ + orders_.order()->within) end();
    return false;
  }
  return store_.get(options_.prefix + "done") && trainers_are_gone();
} catch (const Unavailable&) {  // it may come back
  return false;
}

// Any master reports it: the first one that sees it.
void StandaloneMaster::end() {
  StopReport report{.ended = processes_};
  report.seconds = std::chrono::duration<double>(Clock::now() - orders_.since()).count();
  report.tasks = tasks_left(store_, options_.prefix);
  report.last = orders_.last_checkpoint();
  const std::string name = options_.job_name.empty() ? options_.prefix : options_.job_name;
  report.go_on = options_.program
                     ? "other manifests, of a program with resume = true in its Distribution"
                     : "other manifests, with --set distributed.resume=true";
  report.go_on +=
      fmt::format(", when this is done: kubectl delete job {0}-trainers {0}-master", name);
  const std::string told = stopped_key(options_.prefix);
  store_.commit({.when = {absent(told)}, .then = {Put{told, text_of(report)}}});
  throw JobStopped{"the job was stopped"};
}

}  // namespace trireme::distributed
