#include "distributed/launch/scale_controller.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "distributed/control/job_control.h"
#include "distributed/master/task_queue.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Milliseconds kScalePoll{200};          // between two looks into the store
constexpr Milliseconds kFinalReadTimeout{3000};  // for reading what became of a job

}  // namespace

ScaleController::ScaleController(Store& store, ScaleControllerOptions options, Supervisor& children)
    : store_(store),
      options_(std::move(options)),
      children_(children),
      wanted_(options_.wanted),
      places_(wanted_.servers) {
  if (options_.rank == 0) {
    const std::string& job = options_.prefix;
    const Limits limits = options_.limits.value_or(Limits{1, kMaxProcesses});
    store_.commit(
        {.then = {Put{limits_key(job), text_of(limits)}, Put{wanted_key(job), text_of(wanted_)},
                  Erase{stop_key(job)}, Erase{stopped_key(job)}, Erase{last_wanted_key(job)},
                  Erase{last_checkpoint_key(job)}, Erase{wanted_servers_key(job)},
                  Erase{drained_prefix(job), true}}});
  }
  thread_ = std::thread([this] { run(); });
}

ScaleController::~ScaleController() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ScaleController::run() {
  for (;;) {
    std::optional<Orders> orders;
    try {
      orders = read();
    } catch (const Error&) {  // those that were known hold
    }
    std::unique_lock lock(mutex_);
    if (orders) orders_ = std::move(*orders);
    if (wake_.wait_for(lock, kScalePoll, [this] { return end_; })) return;
  }
}

ScaleController::Orders ScaleController::read() {
  const std::string& job = options_.prefix;
  const Outcome outcome = store_.commit(
      {.then = {Get{wanted_key(job)}, Get{stop_key(job)}, Get{last_checkpoint_key(job)},
                Get{TaskQueue::epoch_key(job + "task/")}, Get{drained_prefix(job), true}}});
  const auto got = [&](std::size_t i) {
    const std::vector<Entry>& entries = outcome.got.at(i);
    return entries.empty() ? std::nullopt : std::optional(entries[0]);
  };
  Orders orders{.wanted = got(0), .stop = got(1), .last = got(2), .begun = got(3).has_value()};
  orders.drained = outcome.got.at(4);
  if (!orders.drained.empty()) orders.servers = processes(store_, job);
  return orders;
}

int ScaleController::share_of(int count) const {
  return distributed::share_of(options_.rank, options_.world, count);
}

void ScaleController::poll() {
  Orders orders;
  {
    const std::lock_guard lock(mutex_);
    orders = orders_;
  }
  if (orders.wanted && orders.wanted->modified != seen_) {
    const bool first = seen_ == 0 && orders.wanted->version == 1;
    seen_ = orders.wanted->modified;
    try {
      if (!first) scale(wanted_of(orders.wanted->key, orders.wanted->value));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      say(error.what());
    }
  }
  if (!orders.drained.empty()) end_drained(orders);
  if (orders.stop) check_stop(orders);
}

void ScaleController::check_stop(const Orders& orders) {
  const bool first = !stop_;
  if (first) stop_ = Stop{Clock::now(), {}};
  stop_->order = stop_order_of(orders.stop->value);
  waits_ = stop_->order.checkpoint.count() > 0 && orders.begun && !orders.last;
  if (first && waits_ && options_.rank == 0) {
    say(fmt::format("the job is to stop: it has {} s for a last checkpoint",
                    stop_->order.checkpoint.count()));
  }
}

bool ScaleController::ends() const {
  return stop_ && (!waits_ || Clock::now() >= stop_->since + stop_->order.checkpoint);
}

std::optional<LastCheckpoint> ScaleController::last_checkpoint() const {
  if (!stop_ || stop_->order.checkpoint.count() == 0) return std::nullopt;
  if (const auto told = store_.get(last_checkpoint_key(options_.prefix))) {
    return last_checkpoint_of(told->value);
  }
  if (!waits_) return LastCheckpoint{.why = "nothing has been learned yet"};
  const std::chrono::duration<double> waited = Clock::now() - stop_->since;
  return LastCheckpoint{
      .why = lost_since(fmt::format("it was not there after {:.1f} s", waited.count()))};
}

void ScaleController::say(const std::string& text) const {
  if (options_.say) options_.say(text);
}

void ScaleController::scale(const Wanted& wanted) {
  if (options_.rank == 0 && wanted != wanted_) {
    say(fmt::format("{} trainers and {} servers are wanted, instead of {} and {}", wanted.trainers,
                    wanted.servers, wanted_.trainers, wanted_.servers));
  }
  const int more_servers = share_of(wanted.servers) - share_of(wanted_.servers);
  wanted_ = wanted;
  places_ = std::max(places_, wanted.servers);
  for (int i = 0; i < more_servers; ++i) children_.start("server");
  scale_trainers(share_of(wanted.trainers));
}

void ScaleController::scale_trainers(int share) {
  int there = children_.staying("trainer");
  for (; there < share; ++there) children_.start("trainer");
  for (; there > share; --there) children_.leave("trainer");
}

// The master has moved their data.
void ScaleController::end_drained(const Orders& orders) {
  for (const Entry& entry : orders.drained) {
    const std::string text = entry.key.substr(drained_prefix(options_.prefix).size());
    for (const ProcessEntry& server : orders.servers) {
      if (server.place && std::to_string(*server.place) == text &&
          children_.leave("server", server.name)) {
        forget(entry);
      }
    }
  }
}

// So that the next server in that place may stay.
void ScaleController::forget(const Entry& order) {
  try {
    store_.commit({.when = {unchanged(order)}, .then = {Erase{order.key}}});
  } catch (const Unavailable& error) {
    say(error.what());
  }
}

bool ScaleController::enough(int trainers) const {
  return trainers >= share_of(options_.limits ? options_.limits->min : wanted_.trainers) &&
         trainers > 0;
}

void ScaleController::stopped(const StopReport& report) {
  if (options_.rank != 0) return;
  try {
    store_.put(stopped_key(options_.prefix), text_of(report));
    const auto until = Clock::now() + kFinalReadTimeout;
    while (store_.get(stop_key(options_.prefix)) && Clock::now() < until) {
      std::this_thread::sleep_for(Milliseconds(20));
    }
  } catch (const Error&) {  // the store is unavailable
  }
}

}  // namespace trireme::distributed
