#include "distributed/launch/standalone_master.h"

#include <fmt/core.h>

#include <cstdio>

#include "base/error.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/job/job_status.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kStandalonePoll{300};  // between two looks into the store

}  // namespace

// --- Of a trainer

StopWatch::StopWatch(const RoleOptions& options, std::function<void()> leave)
    : leave_(std::move(leave)),
      store_(connect_etcd({.address = options.store, .security = options.store_security})),
      orders_(*store_, options.prefix, [this] { wake_.notify_all(); }),
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

// Looks again after a while too, because the time for a last checkpoint may be over.
void StopWatch::run() {
  for (;;) {
    const bool ends = orders_.state().ends();
    std::unique_lock lock(mutex_);
    came_ = ends;
    if (came_) break;
    if (end_) return;
    wake_.wait_for(lock, kStandalonePoll);
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
  return ProcessRegistry(store_, options_.prefix).list("trainer").empty();
}

bool StandaloneMaster::over() try {
  if (Clock::now() < next_) return false;
  next_ = Clock::now() + kStandalonePoll;
  const OrdersState orders = orders_.state();
  if (orders.stopped) throw JobStopped{"the job was stopped"};
  if (orders.ends()) {
    if (!ending_) {
      ending_ = Clock::now();
      for (const ProcessEntry& process : ProcessRegistry(store_, options_.prefix).list()) {
        processes_ += process.role == "server" ? 0 : 1;
      }
    }
    if (trainers_are_gone() || Clock::now() >= *ending_ + orders.stop->within) end(orders);
    return false;
  }
  return store_.get(options_.prefix + "done") && trainers_are_gone();
} catch (const Unavailable&) {  // it may come back
  return false;
}

// Any master reports it: the first one that sees it.
void StandaloneMaster::end(const OrdersState& orders) {
  StopReport report{.ended = processes_};
  report.seconds = std::chrono::duration<double>(Clock::now() - orders.since).count();
  report.tasks = tasks_left(store_, options_.prefix);
  report.last = orders.last_checkpoint();
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
