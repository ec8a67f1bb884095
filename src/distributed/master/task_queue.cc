#include "distributed/master/task_queue.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "distributed/coordination/election.h"

namespace trireme::distributed {
namespace {

constexpr double kNew = 0.2;  // what the latest task counts in the moving average

// The key beside the tasks holds "3 begun 7", or something else while the tasks of epoch 3 are
// being written. 7 is the last attempt handed out before.
constexpr const char* kEpoch = "epoch";
constexpr const char* kBegun = "begun";

constexpr std::size_t kAtOnce = 100;  // tasks of one transaction

}  // namespace

TaskQueue::TaskQueue(Store& store, const TaskQueueOptions& options)
    : store_(store), options_(options) {
  read();
}

std::string TaskQueue::epoch_key(const std::string& prefix) { return prefix + kEpoch; }

std::string TaskQueue::key(std::int64_t id) const {
  return fmt::format("{}{:010}", options_.prefix, id);
}

Task TaskQueue::task_of(std::int64_t id, const Item& item) const {
  return {id, item.attempt, item.data, epoch_, item.attempt > attempt_ + 1};
}

std::string TaskQueue::described(const Task& task) const {
  return options_.describe ? one_line(options_.describe(task)) : fmt::format("task {}", task.id);
}

// "p 2 1 trainer_3 data": state, attempts, bad ends, owner or "-", data.
std::string TaskQueue::text_of(const Item& item) {
  return fmt::format("{} {} {} {} {}", static_cast<char>(item.state), item.attempt, item.bad,
                     item.owner.empty() ? "-" : item.owner, item.data);
}

TaskQueue::Item TaskQueue::item_of(const std::string& key, const std::string& text) {
  std::string_view rest = text;
  Item item;
  const std::string_view state = task_word(key, rest);
  if (state.size() != 1 || std::string_view("tbpdf").find(state[0]) == std::string_view::npos) {
    fail_data(fmt::format("the key {} holds no task: there is no state \"{}\"", key, state));
  }
  item.state = static_cast<State>(state[0]);
  item.attempt = task_number(key, task_word(key, rest));
  item.bad = static_cast<int>(task_number(key, task_word(key, rest)));
  item.owner = task_word(key, rest);
  if (item.owner == "-") item.owner.clear();
  item.data = rest;
  return item;
}

void TaskQueue::read() {
  bool begun = true;
  for (const Entry& entry : store_.list(options_.prefix).entries) {
    const std::string_view name = std::string_view(entry.key).substr(options_.prefix.size());
    if (name == kEpoch) {
      begun = read_epoch(entry);
      continue;
    }
    if (name.starts_with(kBadTasks)) {
      BadTask task = bad_task_of(entry, name.substr(kBadTasks.size()));
      bad_[{task.epoch, task.id}] = std::move(task);
      continue;
    }
    const std::int64_t id = task_number(entry.key, name);
    Item item = item_of(entry.key, entry.value);
    item.modified = item.order = entry.modified;
    order_ = std::max(order_, item.order);
    sort_in(id, item.state);
    items_.emplace(id, std::move(item));
  }
  if (begun) return;
  // A leader failed while it wrote the tasks of an epoch: it begins again.
  --epoch_;
  items_.clear();
  for (auto& [state, ids] : ids_) ids.clear();
}

// Whether it has begun.
bool TaskQueue::read_epoch(const Entry& entry) {
  std::string_view rest = entry.value;
  epoch_ = task_number(entry.key, task_word(entry.key, rest));
  epoch_modified_ = entry.modified;
  const std::size_t space = rest.find(' ');
  if (space != std::string_view::npos) attempt_ = task_number(entry.key, rest.substr(space + 1));
  return rest.substr(0, space) == kBegun;
}

void TaskQueue::sort_in(std::int64_t id, State state) {
  for (auto& [other, ids] : ids_) ids.erase(id);
  ids_.at(state).insert(id);
  if (state == State::done) add_done(id);
}

// Adds it to the ranges and joins adjacent ones.
void TaskQueue::add_done(std::int64_t id) {
  std::int64_t first = id, last = id + 1;
  auto after = done_.upper_bound(id);
  if (after != done_.begin() && std::prev(after)->second >= id) {
    const auto before = std::prev(after);
    first = before->first;
    last = std::max(last, before->second);
    done_.erase(before);
  }
  if (after != done_.end() && after->first == last) {
    last = after->second;
    done_.erase(after);
  }
  done_[first] = last;
}

// --- Changes: here, then in the store

void TaskQueue::replace(std::int64_t epoch, std::vector<Item> items) {
  attempt_ = last_attempt();
  epoch_ = epoch;
  late_.clear();
  items_.clear();
  done_.clear();
  for (auto& [state, ids] : ids_) ids.clear();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto id = static_cast<std::int64_t>(i);
    ids_.at(items[i].state).insert(id);
    if (items[i].state == State::done) add_done(id);
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
  write_bad_of_before();
}

// Every change is conditional on the revision that was read. So a late transaction whose answer was
// lost changes nothing.
void TaskQueue::write_some() {
  while (!unwritten_.empty()) {
    Transaction transaction;
    std::vector<std::int64_t> ids;
    for (const std::int64_t id : unwritten_) {
      if (transaction.then.size() >= kAtOnce) break;
      const Item& item = items_.at(id);
      transaction.when.push_back(
          {key(id), Condition::Of::modified, Condition::Is::equal, {}, item.modified});
      transaction.then.push_back(Put{key(id), text_of(item)});
      add_bad(id, transaction);
      ids.push_back(id);
    }
    const std::int64_t revision = commit(std::move(transaction));
    for (const std::int64_t id : ids) {
      items_.at(id).modified = revision;
      unwritten_.erase(id);
      unwritten_bad_.erase({epoch_, id});
    }
  }
}

// The record of bad ends of the task is part of the transaction.
void TaskQueue::add_bad(std::int64_t id, Transaction& transaction) const {
  if (unwritten_bad_.contains({epoch_, id})) transaction.then.push_back(bad_change(epoch_, id));
}

Action TaskQueue::bad_change(std::int64_t epoch, std::int64_t id) const {
  const std::string key = bad_key(options_.prefix, epoch, id);
  const auto bad = bad_.find({epoch, id});
  if (bad == bad_.end()) return Erase{key};
  return Put{key, text_for_key(bad->second)};
}

// For epochs that ended while the store was unavailable.
void TaskQueue::write_bad_of_before() {
  while (!unwritten_bad_.empty()) {
    Transaction transaction;
    auto next = unwritten_bad_.begin();
    for (; next != unwritten_bad_.end() && transaction.then.size() < kAtOnce; ++next) {
      transaction.then.push_back(bad_change(next->first, next->second));
    }
    commit(std::move(transaction));
    unwritten_bad_.erase(unwritten_bad_.begin(), next);
  }
}

// Replaces all tasks by those of an epoch.
void TaskQueue::write_epoch() {
  const std::string of_epoch = epoch_key(options_.prefix);
  const auto as_read = [&] {
    return Condition{of_epoch, Condition::Of::modified, Condition::Is::equal, {}, epoch_modified_};
  };
  epoch_modified_ =
      commit({.when = {as_read()},
              .then = {Put{of_epoch, fmt::format("{} beginning {}", epoch_, attempt_)},
                       Erase{options_.prefix + "0", true}}});
  for (auto item = items_.begin(); item != items_.end();) {
    const auto first = item;
    Transaction transaction{.when = {as_read()}};
    for (; item != items_.end() && transaction.then.size() < kAtOnce; ++item) {
      transaction.then.push_back(Put{key(item->first), text_of(item->second)});
      add_bad(item->first, transaction);
    }
    const std::int64_t revision = commit(std::move(transaction));
    for (auto written = first; written != item; ++written) {
      written->second.modified = revision;
      unwritten_bad_.erase({epoch_, written->first});
    }
  }
  epoch_modified_ =
      commit({.when = {as_read()},
              .then = {Put{of_epoch, fmt::format("{} {} {}", epoch_, kBegun, attempt_)}}});
  epoch_unwritten_ = false;
  unwritten_.clear();
}

// Reads the current revisions: it is unknown which of the last changes happened.
void TaskQueue::read_revisions() {
  if (unwritten_.empty() && !epoch_unwritten_) return;
  epoch_modified_ = 0;
  for (auto& [id, item] : items_) item.modified = 0;
  for (const Entry& entry : store_.list(options_.prefix).entries) {
    const std::string_view name = std::string_view(entry.key).substr(options_.prefix.size());
    if (name == kEpoch) epoch_modified_ = entry.modified;
    if (name == kEpoch || name.starts_with(kBadTasks)) continue;
    const auto item = items_.find(task_number(entry.key, name));
    if (item != items_.end()) item->second.modified = entry.modified;
  }
}

void TaskQueue::begin(std::int64_t epoch, const std::vector<std::string>& tasks) {
  if (epoch == epoch_) return;
  if (epoch != epoch_ + 1) {
    fail_usage(fmt::format("epoch {} cannot begin after epoch {}", epoch, epoch_));
  }
  replace(epoch, fresh(epoch, tasks));
  try_to_write();
}

// The number of the last attempt handed out; earlier owners cannot end anything with it.
std::int64_t TaskQueue::last_attempt() const {
  std::int64_t last = attempt_;
  for (const auto& [id, item] : items_) last = std::max(last, item.attempt);
  return last;
}

// Tasks to hand out, without known poison.
std::vector<TaskQueue::Item> TaskQueue::fresh(std::int64_t epoch,
                                              const std::vector<std::string>& tasks) const {
  const std::int64_t last = last_attempt();
  std::vector<Item> items(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    items[i].attempt = last;
    items[i].data = tasks[i];
    const auto bad = bad_.find({epoch, static_cast<std::int64_t>(i)});
    if (bad == bad_.end()) continue;
    items[i].bad = static_cast<int>(bad->second.why.size());
    if (bad->second.failed) items[i].state = State::failed;
  }
  return items;
}

QueueState TaskQueue::state() const {
  const std::set<std::int64_t>&done = ids(State::done), &failed = ids(State::failed);
  return {epoch_, {done.begin(), done.end()}, {failed.begin(), failed.end()}};
}

void TaskQueue::restore(const QueueState& state, const std::vector<std::string>& tasks) {
  std::vector<Item> items = fresh(state.epoch, tasks);
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
  for (const std::int64_t id : state.failed) {
    if (bad_.contains({state.epoch, id})) continue;
    note_bad({state.epoch,
              id,
              described(task_of(id, items_.at(id))),
              true,
              0,
              {"before the job was resumed"}});
  }
  if (!try_to_write()) throw Unavailable("the store does not take the tasks that were put back");
}

std::optional<Task> TaskQueue::take(const std::string& owner, Clock::time_point now, Which which) {
  if (owner.empty() || owner == "-" || owner.find(' ') != std::string::npos) {
    fail_usage("an owner has a name without spaces");
  }
  // Begun tasks come first, so that a checkpoint does not wait for them.
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
  item.order = ++order_;
  change(id, item);
  ++attempts_;
  return task_of(id, item);
}

bool TaskQueue::owns(const std::string& owner, const Task& task, bool late) {
  const auto found = items_.find(task.id);
  const bool own =
      found != items_.end() &&
      (found->second.state == State::pending || (late && found->second.state == State::begun)) &&
      found->second.owner == owner && found->second.attempt == task.attempt &&
      found->second.data == task.data && epoch_ == task.epoch;
  if (!own) ++refused_;
  return own;
}

void TaskQueue::learn(Clock::duration took) {
  const double ms = std::chrono::duration<double, std::milli>(took).count();
  average_ms_ = average_ms_ == 0 ? ms : (1 - kNew) * average_ms_ + kNew * ms;
}

bool TaskQueue::finish(const std::string& owner, const Task& task, Clock::time_point now) {
  const bool own = owns(owner, task, true);
  const auto late = late_.find({task.id, task.attempt});
  if (late != late_.end()) {
    learn(now - late->second);
    late_.erase(late);
  } else if (own && items_.at(task.id).timed) {
    learn(now - items_.at(task.id).since);
  }
  if (!own) return false;
  done_at_ = now;
  Item item = items_.at(task.id);
  item.state = State::done;
  if (bad_.erase({epoch_, task.id}) > 0) unwritten_bad_.insert({epoch_, task.id});
  change(task.id, item);
  return true;
}

bool TaskQueue::give_back(const std::string& owner, const Task& task, const std::string& why,
                          bool death) {
  if (!owns(owner, task)) return false;
  end_badly(task.id, why, death);
  return true;
}

void TaskQueue::note_bad(const BadTask& bad) {
  bad_[{bad.epoch, bad.id}] = bad;
  unwritten_bad_.insert({bad.epoch, bad.id});
}

void TaskQueue::end_badly(std::int64_t id, const std::string& why, bool death) {
  Item item = items_.at(id);
  BadTask bad{epoch_, id, described(task_of(id, item)), false, 0, {}};
  if (const auto known = bad_.find({epoch_, id}); known != bad_.end()) bad = known->second;
  ++item.bad;
  bad.failed = item.bad >= options_.poison;
  bad.deaths += death ? 1 : 0;
  bad.why.push_back(one_line(why));
  item.state = bad.failed ? State::failed : State::begun;
  if (bad.failed) item.owner.clear();
  note_bad(bad);
  change(id, item);
  ++bad_ends_;
  if (options_.ended_badly) options_.ended_badly(bad);
}

// `may_finish`: its owner may still finish it until another trainer gets it.
void TaskQueue::hand_out_again(std::int64_t id, bool may_finish) {
  Item item = items_.at(id);
  item.state = State::begun;
  if (!may_finish) item.owner.clear();
  change(id, item);
}

int TaskQueue::release(const std::string& owner) {
  const std::vector<Task> held = pending_of(owner);
  for (const Task& task : held) hand_out_again(task.id, false);
  return static_cast<int>(held.size());
}

int TaskQueue::lose(const std::vector<std::string>& owners) {
  int count = 0;
  for (const std::string& owner : owners) {
    const std::vector<Task> held = pending_of(owner);
    for (const Task& task : held) {
      const bool blamed = owners.size() == 1 && task.id == held.front().id;
      if (blamed) end_badly(task.id, owner + " died or was cut off", true);
      else hand_out_again(task.id, true);
    }
    count += static_cast<int>(held.size());
  }
  return count;
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
  if (slow.empty()) return 0;
  // If no trainer makes progress, the tasks are not the cause: servers may be unavailable.
  const bool others_go_on = done_at_ && now - *done_at_ < patience() / 2;
  // Owners work on their first task; the others have not begun.
  std::set<std::int64_t> first;
  for (const std::string& owner : owners()) first.insert(pending_of(owner).front().id);
  for (const std::int64_t id : slow) {
    const Item item = items_.at(id);
    late_[{id, item.attempt}] = item.since;
    if (!others_go_on || !first.contains(id)) {
      hand_out_again(id, true);
      continue;
    }
    const auto took = std::chrono::duration_cast<std::chrono::seconds>(now - item.since);
    end_badly(id, fmt::format("{} took longer than {} s", item.owner, took.count()), false);
  }
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
  std::vector<std::pair<std::int64_t, std::int64_t>> held;  // by when it was handed out
  for (const std::int64_t id : ids(State::pending)) {
    const Item& item = items_.at(id);
    if (item.owner == owner) held.emplace_back(item.order, id);
  }
  std::sort(held.begin(), held.end());
  std::vector<Task> tasks;
  for (const auto& [when, id] : held) tasks.push_back(task_of(id, items_.at(id)));
  return tasks;
}

std::vector<BadTask> TaskQueue::bad() const {
  std::vector<BadTask> tasks;
  for (const auto& [which, task] : bad_) tasks.push_back(task);
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
  counts.bad_ends = bad_ends_;
  for (const auto& [which, task] : bad_) counts.left_out += task.failed ? 1 : 0;
  return counts;
}

Milliseconds TaskQueue::patience() const {
  return std::max(options_.min_timeout,
                  Milliseconds(static_cast<std::int64_t>(options_.factor * average_ms_)));
}

}  // namespace trireme::distributed
