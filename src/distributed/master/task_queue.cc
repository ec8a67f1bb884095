#include "distributed/master/task_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr double kNew = 0.2;  // what the latest task counts in the moving average

// The key beside the tasks holds "3 begun 12", or something else while the tasks of epoch 3 are being written. Their attempts begin
// behind 12.
constexpr const char* kEpoch = "epoch";
constexpr const char* kBegun = "begun";
// And below this one there are those that ended badly, by epoch and id.
constexpr const char* kBad = "bad/";

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

// The next line, which is taken off.
std::string line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  std::string result(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return result;
}

// The first line, which says what has happened, not too long for a key.
std::string one_line(const std::string& text) {
  constexpr std::size_t kLongest = 1000;
  std::string_view rest = text;
  const std::string first = line(rest);
  return first.size() > kLongest ? first.substr(0, kLongest) + " ..." : first;
}

std::string times(std::size_t count) {
  if (count < 3) return count == 1 ? "once" : "twice";
  return fmt::format("{} times", count);
}

// "failed 2", then what it is, then a line for each bad end.
std::string text_for_key(const BadTask& task) {
  std::string text =
      fmt::format("{} {}\n{}", task.failed ? "failed" : "bad", task.deaths, task.what);
  for (const std::string& why : task.why) text += "\n" + why;
  return text;
}

// Behind "bad/": "0000000001/0000000042".
BadTask bad_task_of(const Entry& entry, std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) fail_data(fmt::format("the key {} is none", entry.key));
  BadTask task;
  task.epoch = number(entry.key, name.substr(0, slash));
  task.id = number(entry.key, name.substr(slash + 1));
  std::string_view rest = entry.value;
  const std::string head = line(rest);
  std::string_view words = head;
  task.failed = word(entry.key, words) == "failed";
  task.deaths = static_cast<int>(number(entry.key, words));
  task.what = line(rest);
  while (!rest.empty()) task.why.push_back(line(rest));
  return task;
}

}  // namespace

std::vector<BadTask> bad_tasks(Store& store, const std::string& prefix) {
  std::vector<BadTask> tasks;
  const std::string all = prefix + kBad;
  for (const Entry& entry : store.list(all).entries) {
    tasks.push_back(bad_task_of(entry, std::string_view(entry.key).substr(all.size())));
  }
  return tasks;
}

std::string text_of(const BadTask& task) {
  std::string text = fmt::format("{} of epoch {}: ended badly {}", task.what, task.epoch,
                                 times(task.why.size()));
  for (auto why = task.why.begin(); why != task.why.end(); ++why) {
    const bool known = std::find(task.why.begin(), why, *why) != why;
    if (!known) text += (why == task.why.begin() ? ": " : "; ") + *why;
  }
  return text;
}

TaskQueue::TaskQueue(Store& store, const TaskQueueOptions& options)
    : store_(store), options_(options) {
  read();
}

std::string TaskQueue::epoch_key(const std::string& prefix) { return prefix + kEpoch; }

std::string TaskQueue::key(std::int64_t id) const {
  return fmt::format("{}{:010}", options_.prefix, id);
}

std::string TaskQueue::bad_key(std::int64_t epoch, std::int64_t id) const {
  return fmt::format("{}{}{:010}/{:010}", options_.prefix, kBad, epoch, id);
}

Task TaskQueue::task_of(std::int64_t id, const Item& item) const {
  return {id, item.attempt, item.data, item.attempt > attempt_ + 1};
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
  const std::map<std::int64_t, Item> before = std::move(items_);
  forget_all();
  bad_.clear();
  epoch_ = attempt_ = 0;
  bool begun = true;
  for (const Entry& entry : store_.list(options_.prefix).entries) {
    const std::string_view name = std::string_view(entry.key).substr(options_.prefix.size());
    if (name == kEpoch) {
      begun = read_epoch(entry);
    } else if (name.starts_with(kBad)) {
      BadTask task = bad_task_of(entry, name.substr(std::string_view(kBad).size()));
      bad_[{task.epoch, task.id}] = std::move(task);
    } else {
      read_item(number(entry.key, name), entry, before);
    }
  }
  // A leader died while it wrote the tasks of an epoch: it begins anew.
  if (!begun) {
    --epoch_;
    forget_all();
  }
  unsure_ = false;
}

// Whether it has begun.
bool TaskQueue::read_epoch(const Entry& entry) {
  std::string_view rest = entry.value;
  epoch_ = number(entry.key, word(entry.key, rest));
  const std::size_t space = rest.find(' ');
  if (space != std::string_view::npos) attempt_ = number(entry.key, rest.substr(space + 1));
  return rest.substr(0, space) == kBegun;
}

void TaskQueue::read_item(std::int64_t id, const Entry& entry,
                          const std::map<std::int64_t, Item>& before) {
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

void TaskQueue::forget_all() {
  items_.clear();
  ended_.clear();
  for (auto& [state, ids] : ids_) ids.clear();
}

void TaskQueue::sort_in(std::int64_t id, State state) {
  for (auto& [other, ids] : ids_) ids.erase(id);
  ids_.at(state).insert(id);
  if (state == State::done || state == State::failed) add_ended(id);
}

// To the ranges: it becomes one with those that it touches.
void TaskQueue::add_ended(std::int64_t id) {
  std::int64_t first = id, last = id + 1;
  auto after = ended_.upper_bound(id);
  if (after != ended_.begin() && std::prev(after)->second >= id) {
    const auto before = std::prev(after);
    first = before->first;
    last = std::max(last, before->second);
    ended_.erase(before);
  }
  if (after != ended_.end() && after->first == last) {
    last = after->second;
    ended_.erase(after);
  }
  ended_[first] = last;
}

void TaskQueue::read_if_unsure() {
  if (unsure_) read();
}

std::int64_t TaskQueue::commit(Transaction transaction) {
  if (options_.guard) transaction.when.push_back(*options_.guard);
  unsure_ = true;  // until there is an answer
  const Outcome outcome = store_.commit(transaction);
  if (!outcome.succeeded) {
    fail_usage("the tasks are not this master's: another one leads, or has changed them");
  }
  unsure_ = false;
  return outcome.revision;
}

void TaskQueue::change(std::int64_t id, Item item, std::vector<Action> more) {
  Item& kept = items_.at(id);
  const Condition as_read{
      key(id), Condition::Of::modified, Condition::Is::equal, {}, kept.modified};
  more.push_back(Put{key(id), text_of(item)});
  item.modified = commit({.when = {as_read}, .then = std::move(more)});
  sort_in(id, item.state);
  kept = std::move(item);
}

void TaskQueue::begin(std::int64_t epoch, const std::vector<std::string>& tasks) {
  read_if_unsure();
  if (epoch == epoch_) return;
  if (epoch != epoch_ + 1) {
    fail_usage(fmt::format("epoch {} cannot begin after epoch {}", epoch, epoch_));
  }
  write(epoch, fresh(epoch, tasks));
}

// Of all that were ever handed out; an owner of before can end nothing with it.
std::int64_t TaskQueue::last_attempt() const {
  std::int64_t last = attempt_;
  for (const auto& [id, item] : items_) last = std::max(last, item.attempt);
  return last;
}

// To be handed out; but what is known for poison is left out.
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

// All tasks of an epoch in place of those that are there.
void TaskQueue::write(std::int64_t epoch, const std::vector<Item>& items) {
  const std::string of_epoch = epoch_key(options_.prefix);
  const std::int64_t last = last_attempt();
  commit({.then = {Put{of_epoch, fmt::format("{} beginning {}", epoch, last)},
                   Erase{options_.prefix + "0", true}}});
  constexpr std::size_t kAtOnce = 100;
  for (std::size_t first = 0; first < items.size(); first += kAtOnce) {
    Transaction transaction;
    for (std::size_t i = first; i < std::min(first + kAtOnce, items.size()); ++i) {
      transaction.then.push_back(Put{key(static_cast<std::int64_t>(i)), text_of(items[i])});
    }
    commit(std::move(transaction));
  }
  commit({.then = {Put{of_epoch, fmt::format("{} {} {}", epoch, kBegun, last)}}});
  late_.clear();
  read();
}

QueueState TaskQueue::state() const {
  const std::set<std::int64_t>&done = ids(State::done), &failed = ids(State::failed);
  return {epoch_, {done.begin(), done.end()}, {failed.begin(), failed.end()}};
}

void TaskQueue::restore(const QueueState& state, const std::vector<std::string>& tasks) {
  read_if_unsure();
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
  for (const std::int64_t id : state.failed) {
    if (bad_.contains({state.epoch, id})) continue;
    const Task task = task_of(id, items[static_cast<std::size_t>(id)]);
    const BadTask known{state.epoch, id, described(task), true, 0, {"before the job was resumed"}};
    commit({.then = {Put{bad_key(state.epoch, id), text_for_key(known)}}});
  }
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
  return task_of(id, item);
}

bool TaskQueue::owns(const std::string& owner, const Task& task, bool late) {
  read_if_unsure();
  const auto found = items_.find(task.id);
  const bool own = found != items_.end() &&
                   (found->second.state == State::pending ||
                    (late && found->second.state == State::begun)) &&
                   found->second.owner == owner && found->second.attempt == task.attempt &&
                   found->second.data == task.data;
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
  Item item = items_.at(task.id);
  item.state = State::done;
  std::vector<Action> more;
  if (item.bad > 0) more.push_back(Erase{bad_key(epoch_, task.id)});
  change(task.id, item, std::move(more));
  bad_.erase({epoch_, task.id});
  return true;
}

bool TaskQueue::give_back(const std::string& owner, const Task& task, const std::string& why,
                          bool death) {
  if (!owns(owner, task)) return false;
  end_badly(task.id, why, death);
  return true;
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
  change(id, item, {Put{bad_key(epoch_, id), text_for_key(bad)}});
  bad_[{epoch_, id}] = bad;
  ++bad_ends_;
  if (options_.ended_badly) options_.ended_badly(bad);
}

// `may_finish`: its owner may still do so, if nobody else gets it before.
void TaskQueue::hand_out_again(std::int64_t id, bool may_finish) {
  Item item = items_.at(id);
  item.state = State::begun;
  if (!may_finish) item.owner.clear();
  change(id, item);
}

int TaskQueue::release(const std::string& owner) {
  read_if_unsure();
  const std::vector<Task> held = pending_of(owner);
  for (const Task& task : held) hand_out_again(task.id, false);
  return static_cast<int>(held.size());
}

int TaskQueue::lose(const std::string& owner) {
  read_if_unsure();
  const std::vector<Task> held = pending_of(owner);
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (i == 0) end_badly(held[i].id, owner + " died or was cut off", true);
    else hand_out_again(held[i].id, true);
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
  if (slow.empty()) return 0;
  // Their owners work on the first of theirs; of the others nothing is known.
  std::set<std::int64_t> first;
  for (const std::string& owner : owners()) first.insert(pending_of(owner).front().id);
  for (const std::int64_t id : slow) {
    const Item item = items_.at(id);
    late_[{id, item.attempt}] = item.since;
    if (average_ms_ == 0 || !first.contains(id)) {
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
    if (item.owner == owner) held.emplace_back(item.modified, id);
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
  return std::max(options_.least,
                  Milliseconds(static_cast<std::int64_t>(options_.factor * average_ms_)));
}

}  // namespace trireme::distributed
