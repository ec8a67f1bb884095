#include "distributed/master/task_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "distributed/coordination/election.h"

namespace trireme::distributed {
namespace {

constexpr double kNew = 0.2;  // what the latest task counts in the moving average

// The key beside the tasks holds "3 begun", or something else while the tasks of epoch 3 are being written.
constexpr const char* kEpoch = "epoch";
constexpr const char* kBegun = "begun";

constexpr std::size_t kAtOnce = 100;  // tasks of one transaction

std::int64_t number(const std::string& key, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    fail_data(fmt::format("the key {} holds no task: \"{}\" is no number", key, text));
  }
  return value;
}

// The next word, which is taken off.
std::string_view word(const std::string& key, std::string_view& rest) {
  const std::size_t space = rest.find(' ');
  if (space == std::string_view::npos) fail_data(fmt::format("the key {} holds no task", key));
  const std::string_view result = rest.substr(0, space);
  rest.remove_prefix(space + 1);
  return result;
}

}  // namespace

TaskQueue::TaskQueue(Store& store, const TaskQueueOptions& options)
    : store_(store), options_(options) {
  read();
}

std::string TaskQueue::epoch_key(const std::string& prefix) { return prefix + kEpoch; }

std::string TaskQueue::key(std::int64_t id) const {
  return fmt::format("{}{:010}", options_.prefix, id);
}

// "p 2 1 trainer_3 data": state, attempts, bad ends, owner or "-", data.
std::string TaskQueue::text_of(const Item& item) {
  return fmt::format("{} {} {} {} {}", static_cast<char>(item.state), item.attempt, item.bad,
                     item.owner.empty() ? "-" : item.owner, item.data);
}

TaskQueue::Item TaskQueue::item_of(const std::string& key, const std::string& text) {
  std::string_view rest = text;
  Item item;
  const std::string_view state = word(key, rest);
  if (state.size() != 1 || std::string_view("tbpdf").find(state[0]) == std::string_view::npos) {
    fail_data(fmt::format("the key {} holds no task: there is no state \"{}\"", key, state));
  }
  item.state = static_cast<State>(state[0]);
  item.attempt = number(key, word(key, rest));
  item.bad = static_cast<int>(number(key, word(key, rest)));
  item.owner = word(key, rest);
  if (item.owner == "-") item.owner.clear();
  item.data = rest;
  return item;
}

void TaskQueue::read() {
  bool begun = true;
  for (const Entry& entry : store_.list(options_.prefix).entries) {
    const std::string name = entry.key.substr(options_.prefix.size());
    if (name == kEpoch) {
      std::string_view rest = entry.value;
      epoch_ = number(entry.key, word(entry.key, rest));
      epoch_modified_ = entry.modified;
      begun = rest == kBegun;
      continue;
    }
    const std::int64_t id = number(entry.key, name);
    Item item = item_of(entry.key, entry.value);
    item.modified = entry.modified;
    sort_in(id, item.state);
    items_.emplace(id, std::move(item));
  }
  if (begun) return;
  // A leader died while it wrote the tasks of an epoch: it begins anew.
  --epoch_;
  items_.clear();
  for (auto& [state, ids] : ids_) ids.clear();
}

void TaskQueue::sort_in(std::int64_t id, State state) {
  for (auto& [other, ids] : ids_) ids.erase(id);
  ids_.at(state).insert(id);
}

// --- Changes: here, and then in the store

void TaskQueue::replace(std::int64_t epoch, std::vector<Item> items) {
  epoch_ = epoch;
  items_.clear();
  for (auto& [state, ids] : ids_) ids.clear();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto id = static_cast<std::int64_t>(i);
    ids_.at(items[i].state).insert(id);
    items_.emplace(id, std::move(items[i]));
  }
  unwritten_.clear();
  epoch_unwritten_ = true;
}

void TaskQueue::change(std::int64_t id, Item item) {
  sort_in(id, item.state);
  items_.at(id) = std::move(item);
  unwritten_.insert(id);
  try_to_write();
}

std::int64_t TaskQueue::commit(Transaction transaction) {
  if (options_.guard) transaction.when.push_back(*options_.guard);
  const Outcome outcome = store_.commit(transaction);
  if (!outcome.succeeded) {
    fail_refused(store_, options_.guard,
                 "tasks were not as they had been read: they are read again");
  }
  return outcome.revision;
}

bool TaskQueue::try_to_write() {
  if (away()) return false;
  try {
    write();
    return true;
  } catch (const Unavailable&) {
    go_away();
    return false;
  }
}

bool TaskQueue::come_back() {
  if (!away()) return true;
  try {
    commit({});  // also if there is nothing to write: does this one still lead?
    read_revisions();
    write();
    away_since_.reset();
    return true;
  } catch (const Unavailable&) {
    go_away();
    return false;
  }
}

void TaskQueue::write() {
  if (epoch_unwritten_) write_epoch();
  else write_some();
}

// Every change is one of the key as it was read. So a transaction whose answer was lost, and that the store gets to see late,
// does nothing any more.
void TaskQueue::write_some() {
  while (!unwritten_.empty()) {
    Transaction transaction;
    std::vector<std::int64_t> ids;
    for (const std::int64_t id : unwritten_) {
      if (ids.size() == kAtOnce) break;
      const Item& item = items_.at(id);
      transaction.when.push_back(
          {key(id), Condition::Of::modified, Condition::Is::equal, {}, item.modified});
      transaction.then.push_back(Put{key(id), text_of(item)});
      ids.push_back(id);
    }
    const std::int64_t revision = commit(std::move(transaction));
    for (const std::int64_t id : ids) {
      items_.at(id).modified = revision;
      unwritten_.erase(id);
    }
  }
}

// All tasks of an epoch in place of those that are there.
void TaskQueue::write_epoch() {
  const std::string of_epoch = epoch_key(options_.prefix);
  const auto as_read = [&] {
    return Condition{of_epoch, Condition::Of::modified, Condition::Is::equal, {}, epoch_modified_};
  };
  epoch_modified_ = commit({.when = {as_read()},
                            .then = {Put{of_epoch, std::to_string(epoch_) + " beginning"},
                                     Erase{options_.prefix + "0", true}}});
  for (auto item = items_.begin(); item != items_.end();) {
    const auto first = item;
    Transaction transaction{.when = {as_read()}};
    for (; item != items_.end() && transaction.then.size() < kAtOnce; ++item) {
      transaction.then.push_back(Put{key(item->first), text_of(item->second)});
    }
    const std::int64_t revision = commit(std::move(transaction));
    for (auto written = first; written != item; ++written) written->second.modified = revision;
  }
  epoch_modified_ =
      commit({.when = {as_read()}, .then = {Put{of_epoch, fmt::format("{} {}", epoch_, kBegun)}}});
  epoch_unwritten_ = false;
  unwritten_.clear();
}

// Of what is there now: nobody knows which of the last changes have happened.
void TaskQueue::read_revisions() {
  if (unwritten_.empty() && !epoch_unwritten_) return;
  epoch_modified_ = 0;
  for (auto& [id, item] : items_) item.modified = 0;
  for (const Entry& entry : store_.list(options_.prefix).entries) {
    const std::string name = entry.key.substr(options_.prefix.size());
    if (name == kEpoch) {
      epoch_modified_ = entry.modified;
      continue;
    }
    const auto item = items_.find(number(entry.key, name));
    if (item != items_.end()) item->second.modified = entry.modified;
  }
}

void TaskQueue::begin(std::int64_t epoch, const std::vector<std::string>& tasks) {
  if (epoch == epoch_) return;
  if (epoch != epoch_ + 1) {
    fail_usage(fmt::format("epoch {} cannot begin after epoch {}", epoch, epoch_));
  }
  std::vector<Item> items(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) items[i].data = tasks[i];
  replace(epoch, std::move(items));
  try_to_write();
}

QueueState TaskQueue::state() const {
  const std::set<std::int64_t>&done = ids(State::done), &failed = ids(State::failed);
  return {epoch_, {done.begin(), done.end()}, {failed.begin(), failed.end()}};
}

// Attempts go on rising, so that an owner from before can end nothing.
void TaskQueue::restore(const QueueState& state, const std::vector<std::string>& tasks) {
  std::vector<Item> items(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto before = items_.find(static_cast<std::int64_t>(i));
    if (before != items_.end()) items[i].attempt = before->second.attempt;
    items[i].data = tasks[i];
  }
  const auto set = [&](const std::vector<std::int64_t>& ids, State to) {
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= static_cast<std::int64_t>(items.size())) {
        fail_usage(
            fmt::format("epoch {} has {} tasks, and task {} of a checkpoint is not one: "
                        "are these other data, or is task_batches another?",
                        state.epoch, items.size(), id));
      }
      items[static_cast<std::size_t>(id)].state = to;
    }
  };
  set(state.done, State::done);
  set(state.failed, State::failed);
  replace(state.epoch, std::move(items));
  if (!try_to_write()) throw Unavailable("the store does not take the tasks that were put back");
}

std::optional<Task> TaskQueue::take(const std::string& owner, Clock::time_point now, Which which) {
  if (owner.empty() || owner == "-" || owner.find(' ') != std::string::npos) {
    fail_usage("an owner has a name without spaces");
  }
  // What was begun comes first, so that a checkpoint does not wait for it.
  const bool new_ones = count(State::begun) == 0 && which == Which::any;
  const std::set<std::int64_t>& from = ids(new_ones ? State::todo : State::begun);
  if (from.empty()) return std::nullopt;
  const std::int64_t id = *from.begin();
  Item item = items_.at(id);
  item.state = State::pending;
  item.owner = owner;
  ++item.attempt;
  item.since = now;
  item.timed = true;
  change(id, item);
  ++attempts_;
  return Task{id, item.attempt, item.data, epoch_};
}

bool TaskQueue::owns(const std::string& owner, const Task& task) {
  const auto found = items_.find(task.id);
  const bool own = found != items_.end() && found->second.state == State::pending &&
                   found->second.owner == owner && found->second.attempt == task.attempt &&
                   found->second.data == task.data && epoch_ == task.epoch;
  if (!own) ++refused_;
  return own;
}

bool TaskQueue::finish(const std::string& owner, const Task& task, Clock::time_point now) {
  if (!owns(owner, task)) return false;
  Item item = items_.at(task.id);
  if (item.timed) {
    const double took = std::chrono::duration<double, std::milli>(now - item.since).count();
    average_ms_ = average_ms_ == 0 ? took : (1 - kNew) * average_ms_ + kNew * took;
  }
  item.state = State::done;
  change(task.id, item);
  return true;
}

bool TaskQueue::give_back(const std::string& owner, const Task& task) {
  if (!owns(owner, task)) return false;
  end_badly(task.id);
  return true;
}

void TaskQueue::end_badly(std::int64_t id) {
  Item item = items_.at(id);
  ++item.bad;
  item.state = item.bad >= options_.poison ? State::failed : State::begun;
  item.owner.clear();
  change(id, item);
}

int TaskQueue::release(const std::string& owner) {
  const std::vector<Task> held = pending_of(owner);
  for (const Task& task : held) {
    Item item = items_.at(task.id);
    item.state = State::begun;
    item.owner.clear();
    change(task.id, item);
  }
  return static_cast<int>(held.size());
}

int TaskQueue::expire(Clock::time_point now) {
  std::vector<std::int64_t> slow;
  for (const std::int64_t id : ids(State::pending)) {
    Item& item = items_.at(id);
    if (!item.timed) {  // handed out by a leader before: its time begins
      item.timed = true;
      item.since = now;
    }
    if (now - item.since >= patience()) slow.push_back(id);
  }
  for (const std::int64_t id : slow) end_badly(id);
  return static_cast<int>(slow.size());
}

bool TaskQueue::finished() const {
  return epoch_ > 0 && count(State::todo) + count(State::begun) + count(State::pending) == 0;
}

std::set<std::string> TaskQueue::owners() const {
  std::set<std::string> owners;
  for (const std::int64_t id : ids(State::pending)) owners.insert(items_.at(id).owner);
  return owners;
}

std::vector<Task> TaskQueue::pending_of(const std::string& owner) const {
  std::vector<Task> tasks;
  for (const std::int64_t id : ids(State::pending)) {
    const Item& item = items_.at(id);
    if (item.owner == owner) tasks.push_back({id, item.attempt, item.data, epoch_});
  }
  return tasks;
}

TaskCounts TaskQueue::counts() const {
  TaskCounts counts;
  counts.begun = count(State::begun);
  counts.todo = count(State::todo) + counts.begun;
  counts.pending = count(State::pending);
  counts.done = count(State::done);
  counts.failed = count(State::failed);
  counts.refused = refused_;
  counts.attempts = attempts_;
  return counts;
}

Milliseconds TaskQueue::patience() const {
  return std::max(options_.least,
                  Milliseconds(static_cast<std::int64_t>(options_.factor * average_ms_)));
}

}  // namespace trireme::distributed
