#include "distributed/control/group_control.h"

#include <fmt/core.h>

#include "base/error.h"
#include "distributed/checkpoint/restore.h"
#include "distributed/control/orders.h"

namespace trireme::distributed {
namespace {

// Reads and checks every byte of it.
bool is_whole(checkpoint::Catalog& catalog, std::int64_t id, const CheckpointCoordinator& cuts) {
  const std::vector<checkpoint::Committed> list = catalog.list();
  checkpoint::Share all;
  for (const checkpoint::Committed& one : list) {
    if (one.id != id) continue;
    for (const checkpoint::Part& part : catalog.manifest(one).parts) {
      for (const checkpoint::DenseRange& range : part.info.dense) all.dense.push_back({range, {}});
    }
  }
  const std::optional<std::string> problem = checkpoint::damage(catalog, list, id, all);
  if (problem) cuts.say(fmt::format("checkpoint {}: {}", id, *problem));
  return !problem;
}

}  // namespace

GroupControl::GroupControl(Store& store, Master& master,
                           const CheckpointCoordinatorOptions& options)
    : store_(store), master_(master), options_(options), checkpoints_(store, master, options) {}

void GroupControl::poll() {
  checkpoints_.lead([this](const Leadership&) { begin(); }, [this] { poll_as_leader(); });
}

void GroupControl::poll_as_leader() {
  if (start_.generation == 0 && checkpoints_.ending()) return checkpoints_.validate_before_start();
  const std::int64_t founded = founded_in(store_.get(founded_key(options_.prefix)));
  if (founded > start_.generation) return start(founded);
  if (start_.generation == 0) return;  // no group yet
  if (!checkpoints_.draining()) withdraw();
  checkpoints_.poll(start_.rollbacks,
                    [this](const QueueState& queue, bool over) { return save(queue, over); });
}

// Continues from the store: after another leader, or after a change of this one that it does not
// know to have happened.
void GroupControl::begin() {
  const std::optional<Entry> entry = store_.get(start_key(options_.prefix));
  start_ = entry ? group_start_of(entry->value) : GroupStart();
  start_revision_ = entry ? entry->modified : 0;
  asked_.reset();
  order_out_ = true;
  if (start_.generation > 0) master_.go_on(start_.rollbacks);
}

// The order of a checkpoint that was given up is no order any more.
void GroupControl::withdraw() {
  asked_.reset();
  if (!order_out_) return;
  put({Erase{save_key(options_.prefix)}});
  order_out_ = false;
}

// Changes the store if the start there is the one that this master knows. So a change whose answer
// was lost cannot happen after a later start.
std::int64_t GroupControl::put(std::vector<Action> actions) {
  return checkpoints_.put(std::move(actions),
                          {unmodified(start_key(options_.prefix), start_revision_)});
}

// Members wait until they get the start; if a leader fails before, the next one writes it.
void GroupControl::start(std::int64_t generation) {
  checkpoints_.drop();
  const auto [id, snapshot] = checkpoints_.newest(
      start_.generation == 0,
      [this](checkpoint::Catalog& catalog, std::int64_t checkpoint, const JobSnapshot&) {
        return is_whole(catalog, checkpoint, checkpoints_);
      });
  if (!master_.restore(snapshot.queue)) throw Deposed();
  const bool first = start_.generation == 0;
  const GroupStart next{generation, start_.rollbacks + 1, id,
                        static_cast<std::int64_t>(snapshot.updates)};
  start_revision_ =
      put({Put{start_key(options_.prefix), text_of(next)}, Erase{save_key(options_.prefix)}});
  start_ = next;
  order_out_ = false;
  master_.go_on(start_.rollbacks);
  if (!first || id > 0) {
    checkpoints_.say(fmt::format("the trainers went back to epoch {} with {} tasks done",
                                 std::max<std::int64_t>(snapshot.queue.epoch, 1),
                                 snapshot.queue.done.size()));
  }
}

// Orders one of the members to save. It has time, because no member has a task.
bool GroupControl::save(const QueueState& queue, bool over) {
  if (!asked_) {
    asked_ = checkpoints_.catalog().begin(/*delta=*/false);
    asked_at_ = Clock::now();
    order_out_ = true;
    put({Put{save_key(options_.prefix), text_of(SaveOrder{*asked_})}});
    return false;
  }
  const std::optional<Entry> entry = store_.get(saved_key(options_.prefix));
  if (!entry) return false;
  const GroupSaved saved = group_saved_of(entry->value);
  if (saved.checkpoint != asked_->id) return false;
  return commit(saved, queue, over);
}

bool GroupControl::commit(const GroupSaved& saved, const QueueState& queue, bool over) {
  put({Erase{save_key(options_.prefix)}});
  order_out_ = false;
  if (!saved.problem.empty()) fail_io(saved.problem);
  checkpoint::Manifest manifest;
  manifest.id = asked_->id;
  manifest.base = asked_->base;
  manifest.previous = asked_->previous;
  manifest.epoch = queue.epoch;
  manifest.parts = saved.parts;
  manifest.snapshot =
      text_of(JobSnapshot{queue, static_cast<std::uint64_t>(saved.committed), over});
  checkpoints_.catalog().commit(manifest);
  std::uint64_t bytes = 0;
  for (const checkpoint::Part& part : saved.parts) bytes += part.sum.bytes;
  checkpoints_.done(asked_->id, bytes,
                    std::chrono::duration<double>(Clock::now() - asked_at_).count());
  asked_.reset();
  return true;
}

}  // namespace trireme::distributed
