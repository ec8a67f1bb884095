#include "distributed/launch/scale_controller.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/error.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Milliseconds kDrainedPoll{200};        // between two looks for drained servers
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
  orders_.emplace(store, options_.prefix);
}

int ScaleController::share_of(int count) const {
  return distributed::share_of(options_.rank, options_.world, count);
}

void ScaleController::poll() {
  const OrdersState orders = orders_->state();
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
  if (!orders.drained.empty()) end_drained(orders.drained);
  if (orders.stop) check_stop(orders);
}

void ScaleController::check_stop(const OrdersState& orders) {
  if (std::exchange(stopping_, true) || options_.rank != 0 || orders.ends()) return;
  say(fmt::format("the job is to stop: it has {} s for a last checkpoint",
                  orders.stop->checkpoint.count()));
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

// The master has moved their data. A server that has lost its connection registers again later.
void ScaleController::end_drained(const std::vector<Entry>& drained) {
  if (Clock::now() < next_drained_) return;
  next_drained_ = Clock::now() + kDrainedPoll;
  std::vector<ProcessEntry> all;
  try {
    all = ProcessRegistry(store_, options_.prefix).list();
  } catch (const Unavailable&) {  // at the next look
  }
  for (const Entry& entry : drained) {
    if (ended_.contains({entry.key, entry.modified})) {
      forget(entry);
      continue;
    }
    const std::string text = entry.key.substr(drained_prefix(options_.prefix).size());
    for (const ProcessEntry& server : all) {
      if (server.role == "server" && server.place && std::to_string(*server.place) == text &&
          children_.leave("server", server.name)) {
        ended_.emplace(entry.key, entry.modified);
        forget(entry);
      }
    }
  }
}

// So that the next server in that place may stay. Tried again at the next look if the store does
// not answer.
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
