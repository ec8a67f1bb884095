#include "distributed/control/checkpoint_coordinator.h"

#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "distributed/control/last_checkpoint.h"

namespace trireme::distributed {
namespace {

constexpr std::chrono::seconds kDrain{120};
constexpr std::chrono::seconds kSaid{10};  // after which the same is said again

}  // namespace

void CheckpointCoordinator::say(const std::string& text) const {
  if (options_.say) options_.say(text);
}

void CheckpointCoordinator::lead(const std::function<void(const Leadership&)>& begin,
                                 const std::function<void()>& poll) try {
  const std::optional<Leadership> now = master_.leadership();
  if (!now) return leadership_.reset();
  if (!leadership_ || leadership_->epoch != now->epoch || in_doubt_) {
    leadership_.reset();
    draining_.reset();
    if (std::exchange(last_epoch_, now->epoch) != now->epoch) next_ = Clock::now() + every();
    begin(*now);
    leadership_ = now;
    in_doubt_ = false;
  }
  last_ = read_last_or_go_on();
  poll();
} catch (const Unavailable& error) {
  report_trouble(error.what());
} catch (const Deposed&) {
  leadership_.reset();
}

// A message that does not change is repeated at this interval.
void CheckpointCoordinator::report_trouble(const std::string& why) {
  const auto now = Clock::now();
  if (why == trouble_ && now - troubled_at_ < kSaid) return;
  trouble_ = why;
  troubled_at_ = now;
  say("tries again: " + why);
}

std::int64_t CheckpointCoordinator::put(std::vector<Action> actions,
                                        std::vector<Condition> conditions) {
  conditions.push_back(leadership_->guard);
  in_doubt_ = true;
  const Outcome outcome =
      store_.commit({.when = std::move(conditions), .then = std::move(actions)});
  if (!outcome.succeeded) {
    fail_refused(store_, leadership_->guard,
                 "the state of the job is not as it was read: it is read again");
  }
  in_doubt_ = false;
  return outcome.revision;
}

checkpoint::Catalog CheckpointCoordinator::catalog() {
  return {store_,
          {.folder = options_.folder,
           .prefix = options_.prefix + "checkpoint/",
           .guard = leadership_->guard,
           .keep = options_.keep}};
}

std::pair<std::int64_t, JobSnapshot> CheckpointCoordinator::newest(bool fresh, const Whole& whole) {
  if (options_.folder.empty()) return {};
  checkpoint::Catalog all = catalog();
  std::vector<checkpoint::Committed> list = all.list();
  if (!list.empty() && fresh && !options_.resume) {
    // Checkpoints of a completed job are no longer needed.
    if (!job_snapshot_of(all.manifest(list.front()).snapshot).over) {
      fail_usage(options_.folder +
                 " has checkpoints of an unfinished run\n  hint   [distributed] resume = "
                 "true continues from them; or remove the folder");
    }
    all.rewind(0);
    list.clear();
  }
  std::string reasons;
  for (const checkpoint::Committed& one : list) {
    try {
      JobSnapshot snapshot = job_snapshot_of(all.manifest(one).snapshot);
      if (whole(all, one.id, snapshot)) {
        if (one.id != list.front().id) all.rewind(one.id);
        return {one.id, std::move(snapshot)};
      }
    } catch (const checkpoint::Damaged& error) {
      say(error.what());
    }
    reasons += fmt::format(" {}", one.id);
  }
  if (!list.empty()) fail_data("all checkpoints are damaged:" + reasons);
  return {};
}

bool CheckpointCoordinator::due() const {
  if (master_.all_over() || last_ == Last::wanted) return true;
  // After the checkpoint of a completed job no other one may follow: it would mark the job as
  // incomplete.
  if (options_.folder.empty() || master_.concluded()) return false;
  return draining_ || Clock::now() >= next_;
}

void CheckpointCoordinator::poll(std::uint32_t rollbacks, const Save& save) {
  rollbacks_ = rollbacks;
  if (last_ == Last::published) return master_.pause();
  if (!due()) return;
  const bool last = last_ == Last::wanted;
  if (options_.folder.empty()) {
    return last ? publish_last("the job keeps none (checkpoint_seconds = 0)") : master_.conclude();
  }
  if (last && master_.finished()) return publish_last();
  if (!draining_) {
    draining_ = Clock::now();
    master_.drain();
  }
  const std::optional<std::string> problem = try_to_save(save);
  if (!problem) return;
  if (last) publish_last(problem->empty() ? "" : lost_since(*problem));
  else go_on(rollbacks);
}

// Why there is no checkpoint this time; empty if there is one; nothing if that is not known yet.
std::optional<std::string> CheckpointCoordinator::try_to_save(const Save& save) try {
  // Read first, so that the last checkpoint of a completed job is marked as such. A job that
  // continues from any other one ends later.
  const bool over = master_.all_over() && last_ == Last::none;
  const std::optional<QueueState> queue = master_.state_at_rest();
  if (queue && save(*queue, over)) {
    if (over) master_.conclude();
    return "";
  }
  if (Clock::now() - *draining_ < kDrain) return std::nullopt;
  throw Unavailable(queue ? "not all who hold what was learned have said that they have written it"
                          : "tasks are pending for too long");
} catch (const Deposed&) {
  throw;
} catch (const Unavailable& error) {
  fail(error);
  if (last_ == Last::none) return error.what();
  draining_ = Clock::now();
  return std::nullopt;
} catch (const Error& error) {
  if (error.kind() != ErrorKind::io) throw;
  fail(error);
  return error.what();
}

// --- A job that ends early

// While the store is unavailable no checkpoint is possible: trainers must not wait for one in
// progress.
CheckpointCoordinator::Last CheckpointCoordinator::read_last_or_go_on() try {
  return read_last();
} catch (const Unavailable&) {
  if (draining_ && last_ == Last::none && !master_.all_over()) go_on(rollbacks_);
  throw;
}

CheckpointCoordinator::Last CheckpointCoordinator::read_last() {
  const Outcome outcome = store_.commit(
      {.then = {Get{last_wanted_key(options_.prefix)}, Get{last_checkpoint_key(options_.prefix)}}});
  if (!outcome.got.at(1).empty()) return Last::published;
  return outcome.got.at(0).empty() ? Last::none : Last::wanted;
}

// The state in the newest checkpoint, or why there is none.
void CheckpointCoordinator::publish_last(const std::string& why) {
  LastCheckpoint last{.why = why};
  if (why.empty()) {
    checkpoint::Catalog all = catalog();
    const checkpoint::Committed newest = all.list().at(0);
    const JobSnapshot snapshot = job_snapshot_of(all.manifest(newest).snapshot);
    last = {newest.id, "", snapshot.queue.epoch,
            static_cast<std::int64_t>(snapshot.queue.done.size()), snapshot.updates};
  }
  put({Put{last_checkpoint_key(options_.prefix), text_of(last)}});
  last_ = Last::published;
  master_.pause();
}

void CheckpointCoordinator::validate_before_start() {
  if (last_ == Last::wanted) publish_last("nothing has been learned yet");
}

void CheckpointCoordinator::fail(const Error& error) {
  say(std::string("no checkpoint: ") + error.what());
  if (options_.not_saved) options_.not_saved();
}

void CheckpointCoordinator::drop() {
  draining_.reset();
  master_.pause();
}

void CheckpointCoordinator::go_on(std::uint32_t rollbacks) {
  draining_.reset();
  next_ = Clock::now() + every();
  master_.go_on(rollbacks);
}

void CheckpointCoordinator::done(std::int64_t id, std::uint64_t bytes, double seconds) {
  say(fmt::format("checkpoint {}: {:.1f} MB in {:.2f} s", id, static_cast<double>(bytes) / 1e6,
                  seconds));
  if (options_.saved) options_.saved(id, seconds, bytes);
}

}  // namespace trireme::distributed
