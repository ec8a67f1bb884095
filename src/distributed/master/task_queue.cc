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
  std::map<std::int64_t, Item> before = std::move(items_);
  forget_all();
  epoch_ = 0;
  bool begun = true;
  for (const Entry& entry : store_.list(options_.prefix).entries) {
    const std::string name = entry.key.substr(options_.prefix.size());
    if (name == kEpoch) {
      std::string_view rest = entry.value;
      epoch_ = number(entry.key, word(entry.key, rest));
      begun = rest == kBegun;
      continue;
    }
    const std::int64_t id = number(entry.key, name);
    Item item = item_of(entry.key, entry.value);
    item.modified = entry.modified;
    const auto known = before.find(id);
    if (known != before.end() && known->second.attempt == item.attempt) {
      item.since = known->second.since;
      item.timed = known->second.timed;
    }
    sort_in(id, item.state);
    items_.emplace(id, std::move(item));
  }
  // A leader died while it wrote the tasks of an epoch: it begins anew.
  if (!begun) {
    --epoch_;
    forget_all();
  }
  unsure_ = false;
}

void TaskQueue::forget_all() {
  items_.clear();
  for (auto& [state, ids] : ids_) ids.clear();
}

void TaskQueue::sort_in(std::int64_t id, State state) {
  for (auto& [other, ids] : ids_) ids.erase(id);
  ids_.at(state).insert(id);
}

void TaskQueue::read_if_unsure() {
  if (unsure_) read();
}

std::int64_t TaskQueue::commit(Transaction transaction) {
  if (options_.guard) transaction.when.push_back(*options_.guard);
  unsure_ = true;  // until there is an answer
  const Outcome outcome = store_.commit(transaction);
  if (!outcome.succeeded) {
    fail_refused(store_, options_.guard,
                 "tasks were not as they had been read: they are read again");
  }
  unsure_ = false;
  return outcome.revision;
}

void TaskQueue::change(std::int64_t id, Item item) {
  Item& kept = items_.at(id);
  const Condition as_read{
      key(id), Condition::Of::modified, Condition::Is::equal, {}, kept.modified};
  item.modified = commit({.when = {as_read}, .then = {Put{key(id), text_of(item)}}});
  sort_in(id, item.state);
  kept = std::move(item);
}

void TaskQueue::begin(std::int64_t epoch, const std::vector<std::string>& tasks) {
  read_if_unsure();
  if (epoch == epoch_) return;
  if (epoch != epoch_ + 1) {
    fail_usage(fmt::format("epoch {} cannot begin after epoch {}", epoch, epoch_));
  }
  std::vector<Item> items(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) items[i].data = tasks[i];
  write(epoch, items);
}

// All tasks of an epoch in place of those that are there.
void TaskQueue::write(std::int64_t epoch, const std::vector<Item>& items) {
  const std::string of_epoch = epoch_key(options_.prefix);
  commit({.then = {Put{of_epoch, std::to_string(epoch) + " beginning"},
                   Erase{options_.prefix + "0", true}}});
  constexpr std::size_t kAtOnce = 100;
  for (std::size_t first = 0; first < items.size(); first += kAtOnce) {
    Transaction transaction;
    for (std::size_t i = first; i < std::min(first + kAtOnce, items.size()); ++i) {
      transaction.then.push_back(Put{key(static_cast<std::int64_t>(i)), text_of(items[i])});
    }
    commit(std::move(transaction));
  }
  commit({.then = {Put{of_epoch, fmt::format("{} {}", epoch, kBegun)}}});
  read();
}

QueueState TaskQueue::state() const {
  const std::set<std::int64_t>&done = ids(State::done), &failed = ids(State::failed);
  return {epoch_, {done.begin(), done.end()}, {failed.begin(), failed.end()}};
}

// Attempts go on rising, so that an owner from before can end nothing.
void TaskQueue::restore(const QueueState& state, const std::vector<std::string>& tasks) {
  read_if_unsure();
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
  write(state.epoch, items);
}

std::optional<Task> TaskQueue::take(const std::string& owner, Clock::time_point now, Which which) {
  if (owner.empty() || owner == "-" || owner.find(' ') != std::string::npos) {
    fail_usage("an owner has a name without spaces");
  }
  read_if_unsure();
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
  return Task{id, item.attempt, item.data};
}

bool TaskQueue::owns(const std::string& owner, const Task& task) {
  read_if_unsure();
  const auto found = items_.find(task.id);
  const bool own = found != items_.end() && found->second.state == State::pending &&
                   found->second.owner == owner && found->second.attempt == task.attempt &&
                   found->second.data == task.data;
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
  read_if_unsure();
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
  read_if_unsure();
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
    if (item.owner == owner) tasks.push_back({id, item.attempt, item.data});
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
