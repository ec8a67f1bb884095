#include "distributed/control/group_control.h"

#include <fmt/core.h>

#include "base/error.h"
#include "distributed/checkpoint/restore.h"
#include "distributed/control/orders.h"

namespace trireme::distributed {
namespace {

// Reads and checks every byte of it.
bool is_whole(checkpoint::Catalog& catalog, std::int64_t id, const Cuts& cuts) {
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

GroupControl::GroupControl(Store& store, Master& master, const CutOptions& options)
    : store_(store), master_(master), options_(options), cuts_(store, master, options) {}

void GroupControl::look() {
  cuts_.lead([this](const Leadership&) { begin(); }, [this] { look_as_leader(); });
}

void GroupControl::look_as_leader() {
  if (start_.generation == 0 && cuts_.ending()) return cuts_.look_before_it_begins();
  const std::int64_t founded = founded_in(store_.get(founded_key(options_.prefix)));
  if (founded > start_.generation) return start(founded);
  if (start_.generation == 0) return;  // no group yet
  if (!cuts_.draining()) asked_.reset();
  cuts_.look(start_.rollbacks,
             [this](const QueueState& queue, bool over) { return save(queue, over); });
}

// Removes the rest of the previous leader.
void GroupControl::begin() {
  start_ = read_start(store_, options_.prefix);
  asked_.reset();
  if (start_.generation > 0) master_.go_on(start_.rollbacks);
}

// Members wait until they get the start; if a leader fails before, the next one writes it.
void GroupControl::start(std::int64_t generation) {
  cuts_.drop();
  const auto [id, cut] = cuts_.newest(
      start_.generation == 0, [this](checkpoint::Catalog& catalog, std::int64_t checkpoint,
                                     const Cut&) { return is_whole(catalog, checkpoint, cuts_); });
  if (!master_.restore(cut.queue)) throw Deposed();
  const bool first = start_.generation == 0;
  start_ = {generation, start_.rollbacks + 1, id, static_cast<std::int64_t>(cut.updates)};
  cuts_.put({Put{start_key(options_.prefix), text_of(start_)}, Erase{save_key(options_.prefix)}});
  master_.go_on(start_.rollbacks);
  if (!first || id > 0) {
    cuts_.say(fmt::format("the trainers went back to epoch {} with {} tasks done",
                          std::max<std::int64_t>(cut.queue.epoch, 1), cut.queue.done.size()));
  }
}

// Orders one of the members to save. It has time, because no member has a task.
bool GroupControl::save(const QueueState& queue, bool over) {
  if (!asked_) {
    asked_ = cuts_.catalog().begin(/*delta=*/false);
    asked_at_ = Clock::now();
    cuts_.put({Put{save_key(options_.prefix), text_of(SaveOrder{*asked_})}});
    return false;
  }
  const std::optional<Entry> entry = store_.get(saved_key(options_.prefix));
  if (!entry) return false;
  const GroupSaved saved = group_saved_of(entry->value);
  if (saved.checkpoint != asked_->id) return false;
  return commit(saved, queue, over);
}

bool GroupControl::commit(const GroupSaved& saved, const QueueState& queue, bool over) {
  cuts_.put({Erase{save_key(options_.prefix)}});
  if (!saved.problem.empty()) fail_io(saved.problem);
  checkpoint::Manifest manifest;
  manifest.id = asked_->id;
  manifest.base = asked_->base;
  manifest.previous = asked_->previous;
  manifest.epoch = queue.epoch;
  manifest.parts = saved.parts;
  manifest.cut = text_of(Cut{queue, static_cast<std::uint64_t>(saved.committed), over});
  cuts_.catalog().commit(manifest);
  std::uint64_t bytes = 0;
  for (const checkpoint::Part& part : saved.parts) bytes += part.sum.bytes;
  cuts_.done(asked_->id, bytes, std::chrono::duration<double>(Clock::now() - asked_at_).count());
  asked_.reset();
  return true;
}

}  // namespace trireme::distributed
