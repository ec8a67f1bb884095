#include "distributed/control/job_control.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "distributed/control/leader_keys.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/server/spread.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kLongest{600000};  // in which a server saves or loads all it has
constexpr Milliseconds kShort{5000};      // the same of what takes no time
constexpr Milliseconds kPublished{500};   // between two words on tasks that are over

// The tasks that are fully trained, or never will be.
TasksOver completed_tasks(const QueueState& queue) {
  TasksOver settled{static_cast<std::uint32_t>(queue.epoch), {}};
  std::vector<std::int64_t> tasks = queue.done;
  tasks.insert(tasks.end(), queue.failed.begin(), queue.failed.end());
  std::sort(tasks.begin(), tasks.end());
  for (const std::int64_t task : tasks) {
    const auto first = static_cast<std::uint32_t>(task);
    const bool next = !settled.ranges.empty() && settled.ranges.back().second == first;
    if (next) ++settled.ranges.back().second;
    else settled.ranges.emplace_back(first, first + 1);
  }
  return settled;
}

// A leader that fails while the store is unavailable has handed out tasks that the next leader does
// not know. Until they have been handed out again, and servers have dropped their pushes as
// duplicates, servers have more than the queue of tasks shows; a rollback would repeat these tasks.
void check_is_cut(const SaveReport& report) {
  if (report.begun == 0) return;
  fail_io(
      fmt::format("{} tasks, such as task {} of epoch {}, were trained for a leader that failed "
                  "while the store was unavailable, and must be handed "
                  "out again first",
                  report.begun, report.first.task, report.first.epoch));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

JobControl::JobControl(Store& store, Master& master, const JobControlOptions& options)
    : store_(store),
      master_(master),
      options_(options),
      checkpoints_(store, master, options),
      server_clients_(
          network_, options.security,
          [this](std::size_t place, const std::string& address) { return gone(place, address); }),
      mover_(server_clients_),
      publisher_(server_clients_, options.exports) {}

void JobControl::poll() {
  checkpoints_.lead([this](const Leadership& leadership) { begin(leadership); },
                    [this] { poll_as_leader(); });
}

void JobControl::poll_as_leader() {
  if (view_.rollbacks == 0 && checkpoints_.ending()) return checkpoints_.validate_before_start();
  const int now = view_.servers.map.version() == 0 ? options_.servers : view_.servers.map.servers();
  const std::optional<Servers> present = servers(now);
  if (!present) return;
  if (!placed_ || *present != published_servers()) return roll_back(*present);
  if (options_.synchronous) {
    const std::vector<std::string> members = trainers();
    if (regroup_due_ || members != view_.members) regroup(members);
  }
  grow_old();
  publish_completed();
  if (!checkpoints_.draining() && reshard()) return;
  checkpoints_.poll(view_.rollbacks,
                    [this](const QueueState& queue, bool over) { return save(queue, over); });
}

// Continues from the store: after another leader, or after a change of this one that it does not
// know to have happened.
void JobControl::begin(const Leadership& leadership) {
  const std::string view = view_key(options_.prefix);
  const Outcome outcome = store_.commit({.then = {Get{view}, Get{rolling_key(options_.prefix)},
                                                  Get{leftovers_key(options_.prefix)}}});
  const std::vector<Entry>& found = outcome.got.at(0);
  view_ = found.empty() ? JobView{} : job_view_of(found[0].value);
  view_revision_ = found.empty() ? 0 : found[0].modified;
  placed_ = !found.empty() && outcome.got.at(1).empty();
  leftovers_ = leftovers_noted_ = !outcome.got.at(2).empty();
  regroup_due_ = options_.synchronous;
  balance_known_ = false;
  ticks_published_ = false;
  completed_published_.reset();
  moving_.reset();
  saved_ = 0;
  publisher_.begin();
  aim(published_servers(), leadership.epoch);
  if (placed_) master_.go_on(view_.rollbacks);
}

std::optional<JobControl::Servers> JobControl::servers(int count) {
  const auto size = static_cast<std::size_t>(count);
  Servers found{std::vector<std::string>(size), std::vector<std::int64_t>(size)};
  for (const ProcessEntry& server : ProcessRegistry(store_, options_.prefix).list("server")) {
    const auto place = static_cast<std::size_t>(server.place.value_or(count));
    if (place >= size) continue;
    found.addresses[place] = server.address;
    found.instances[place] = server.instance;
  }
  for (const std::string& address : found.addresses) {
    if (address.empty()) return std::nullopt;
  }
  return found;
}

void JobControl::aim(const Servers& servers, std::uint64_t epoch) {
  aimed_ = servers;
  server_clients_.aim(servers.addresses, epoch);
}

bool JobControl::gone(std::size_t place, const std::string& address) {
  try {
    for (const ProcessEntry& server : ProcessRegistry(store_, options_.prefix).list("server")) {
      if (server.place != static_cast<int>(place)) continue;
      return server.address != address || server.instance != aimed_.instances.at(place);
    }
    return true;
  } catch (const Unavailable&) {  // of the store, which then says nothing of the server
    return false;
  }
}

std::vector<std::string> JobControl::trainers() {
  std::vector<std::string> names;
  for (const ProcessEntry& trainer : ProcessRegistry(store_, options_.prefix).list("trainer")) {
    names.push_back(trainer.name);
  }
  return names;
}

// Changes the store if the view there is the one that this master knows. So a change whose answer
// was lost cannot happen after a later view.
void JobControl::put(std::vector<Action> actions) {
  checkpoints_.put(std::move(actions), {unmodified(view_key(options_.prefix), view_revision_)});
}

// Publishes the view if this master still leads.
void JobControl::publish(JobView next, std::vector<Action> more) {
  const std::string key = view_key(options_.prefix);
  more.push_back(Put{key, text_of(next)});
  view_revision_ = checkpoints_.put(std::move(more), {unmodified(key, view_revision_)});
  view_ = std::move(next);
}

// --- Going back

// Slots of an unfinished move are loaded at their destination, but dense parameters stay on the
// present number of servers.
SlotMap JobControl::map_to_load() {
  const SlotMap& map = view_.servers.map;
  if (map.version() == 0) return SlotMap::balanced(options_.servers);
  const std::optional<Entry> half = store_.get(moving_key(options_.prefix));
  if (!half) return map;
  if (servers_of(half->value)) return map.moved(0, 0, 0).moved(0, 0, 0);
  return map_after(map, half->value);
}

void JobControl::roll_back(const Servers& servers) {
  const auto start = Clock::now();
  const std::string rolling = rolling_key(options_.prefix);
  put({Put{rolling, "1"}});
  placed_ = false;
  completed_published_.reset();
  publisher_.start_anew();
  checkpoints_.drop();
  const bool first = view_.servers.map.version() == 0;
  moving_.reset();
  JobView next = view_;
  next.servers = {map_to_load(), servers.addresses};
  next.instances = servers.instances;
  aim(servers, checkpoints_.epoch());
  server_clients_.set_map(next.servers.map);
  next.generation = next_generation();
  server_clients_.set_members(next.generation, 0);  // from here on nothing of before is taken
  const int places = std::max(next.servers.map.servers(), 1);
  const auto [id, snapshot] =
      checkpoints_.newest(view_.rollbacks == 0,
                          [&](checkpoint::Catalog&, std::int64_t checkpoint,
                              const JobSnapshot& what) { return load(checkpoint, what, places); });
  if (id == 0) load(0, {}, places);
  ++next.rollbacks;
  next.step = 0;
  next.updates = snapshot.updates;
  next.members = options_.synchronous ? trainers() : std::vector<std::string>();
  server_clients_.set_members(next.generation, next.members.size());
  if (!master_.restore(snapshot.queue)) throw Deposed();
  next.ticks = snapshot.ticks;
  next.ticks_seen = ticks_at(snapshot.queue);
  ticks_published_ = false;
  publish(std::move(next), {Erase{rolling}, Erase{moving_key(options_.prefix)},
                            Erase{leftovers_key(options_.prefix)}});
  leftovers_ = leftovers_noted_ = regroup_due_ = balance_known_ = false;
  placed_ = true;
  master_.go_on(view_.rollbacks);
  if (!first || snapshot.queue.epoch > 0) {
    checkpoints_.say(fmt::format("{} servers went back to epoch {} with {} tasks done, in {:.2f} s",
                                 servers.addresses.size(),
                                 std::max<std::int64_t>(snapshot.queue.epoch, 1),
                                 snapshot.queue.done.size(), seconds_since(start)));
  }
}

// Whether all servers succeeded.
bool JobControl::load(std::int64_t checkpoint, const JobSnapshot& snapshot, int servers) {
  const auto blocks = blocks_by_server(snapshot.declared.dense, servers);
  const std::vector<Frame> answers = server_clients_.ask_all(
      [&](std::size_t server) {
        LoadOrder what{checkpoint, snapshot.updates, snapshot.ticks, snapshot.declared};
        if (server < blocks.size()) what.declared.blocks = blocks[server];
        return order(Op::load, text_of(what));
      },
      kLongest);
  bool whole = true;
  for (const Frame& answer : answers) {
    const LoadReport report = load_report_of(answer.payload.text());
    if (report.damage.empty()) continue;
    checkpoints_.say(fmt::format("checkpoint {}: {}", checkpoint, report.damage));
    whole = false;
  }
  return whole;
}

// --- Aging of rows

// The ticks of the present queue of tasks.
std::int64_t JobControl::ticks_due() const {
  if (!options_.ageing) return 0;
  // In this order: an epoch that begins in between has no completed tasks yet, so the tick comes
  // later, not too early.
  const std::int64_t epoch = master_.epoch();
  const std::optional<TaskCounts> counts = master_.counts();
  if (!counts) throw Deposed();
  return ticks_of(*options_.ageing, epoch, tasks_of(*counts), counts->done + counts->failed);
}

// The same for a restored queue: the master may have begun the next epoch already.
std::int64_t JobControl::ticks_at(const QueueState& queue) const {
  const std::optional<TaskCounts> counts = master_.counts();
  if (!options_.ageing || !counts) return 0;
  return ticks_of(*options_.ageing, queue.epoch, tasks_of(*counts),
                  static_cast<std::int64_t>(queue.done.size() + queue.failed.size()));
}

// The number of ticks is published before servers get it, so that a repetition by another leader
// has the same number.
void JobControl::grow_old() {
  if (!options_.ageing) return;
  if (const std::int64_t due = ticks_due(); due > view_.ticks_seen) {
    JobView next = view_;
    next.ticks += due - view_.ticks_seen;
    next.ticks_seen = due;
    ticks_published_ = false;
    publish(std::move(next));
  }
  if (!ticks_published_) publish_ticks();
}

void JobControl::publish_ticks() {
  if (!options_.ageing || view_.ticks == 0) return;
  const auto start = Clock::now();
  const TickOrder what{view_.ticks, options_.ageing->eviction};
  std::uint64_t evicted = 0;
  for (const Frame& answer : server_clients_.ask_all(
           [&](std::size_t) { return order(Op::tick, text_of(what)); }, kLongest)) {
    evicted += tick_report_of(answer.payload.text()).evicted;
  }
  ticks_published_ = true;
  checkpoints_.say(
      fmt::format("tick {}: {} rows that were not worth their place are gone, in {:.2f} s",
                  view_.ticks, evicted, seconds_since(start)));
}

// --- Completed tasks

// Servers forget the pushes of these tasks and accept no more. Sent before slots move: the new
// server of a slot has no marks and must know why.
void JobControl::publish_completed(bool at_once) {
  if (options_.synchronous) return;  // steps are known by their numbers
  const bool due = !completed_published_ || Clock::now() - done_at_ >= kPublished;
  if (!at_once && !due) return;
  const std::optional<Master::Done> done = master_.done();
  if (!done) throw Deposed();
  if (!at_once && done == completed_published_) return;
  TasksOver over{static_cast<std::uint32_t>(done->epoch), {}};
  for (const auto& [first, last] : done->tasks) {
    over.ranges.emplace_back(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last));
  }
  completed_published_.reset();  // in case only some servers get it
  server_clients_.ask_all(
      [&](std::size_t) {
        Frame frame = order(Op::tasks_over, to_bytes(over));
        frame.header.generation = view_.generation;
        return frame;
      },
      kShort);
  completed_published_ = done;
  done_at_ = Clock::now();
}

// --- Synchronous steps

// A generation that neither servers nor trainers know. Servers may know a later one than the view:
// an earlier leader failed before it published that.
std::uint32_t JobControl::next_generation() {
  last_generation_ =
      std::max({view_.generation, last_generation_, server_clients_.generation()}) + 1;
  return last_generation_;
}

// No member is in a step of the new generation before it is published, so servers do not change
// meanwhile. New servers continue from the step of the others. From the first order on until the
// view is published, servers refuse the members of the published generation: if an error comes in
// between, another generation is due.
void JobControl::begin_generation(JobView& next, const std::vector<std::string>& members,
                                  int known) {
  regroup_due_ = true;
  next.generation = next_generation();
  next.members = members;
  server_clients_.set_members(next.generation, members.size());
  const ServerClients::Progress progress = server_clients_.progress(known);
  for (int server = known; server < server_clients_.servers(); ++server) {
    server_clients_.begin_at(server, next.generation, members.size(), progress);
  }
  next.step = progress.step;
  next.updates = progress.updates;
}

void JobControl::regroup(const std::vector<std::string>& members) {
  JobView next = view_;
  begin_generation(next, members, server_clients_.servers());
  publish(std::move(next));
  regroup_due_ = false;
}

// --- Checkpoints

// Whether a checkpoint is possible: not while trainers declare tables that only some servers have
// yet. They may do so at any moment.
bool JobControl::save(const QueueState& queue, bool over) {
  const Declared there = mover_.declarations();
  if (!there.whole) return false;
  grow_old();
  const auto start = Clock::now();
  checkpoint::Catalog all = checkpoints_.catalog();
  const checkpoint::Begun begun = all.begin(saved_ % (options_.deltas + 1) != 0);
  const auto blocks = blocks_by_server(there.dense, view_.servers.map.servers());
  const TasksOver settled = completed_tasks(queue);
  const std::vector<Frame> answers = server_clients_.ask_all(
      [&](std::size_t server) {
        return order(Op::save, text_of(SaveOrder{begun, blocks.at(server), settled}));
      },
      kLongest);
  checkpoint::Manifest manifest;
  manifest.id = begun.id;
  manifest.delta = begun.delta;
  manifest.base = begun.base;
  manifest.previous = begun.previous;
  manifest.epoch = queue.epoch;
  manifest.map_version = view_.servers.map.version();
  JobSnapshot snapshot{
      queue, options_.synchronous ? server_clients_.progress(server_clients_.servers()).updates : 0,
      over, view_.ticks};
  std::uint64_t bytes = 0;
  std::vector<Declarations> declared;
  for (const Frame& answer : answers) {
    SaveReport report = save_report_of(answer.payload.text());
    check_is_cut(report);
    for (const checkpoint::Part& part : report.parts) bytes += part.sum.bytes;
    std::move(report.parts.begin(), report.parts.end(), std::back_inserter(manifest.parts));
    declared.push_back(std::move(report.declared));
  }
  Declared all_declared = together(std::move(declared));
  if (!all_declared.whole || all_declared.dense != there.dense) return false;
  snapshot.declared = std::move(all_declared);
  manifest.snapshot = text_of(snapshot);
  all.commit(manifest);
  ++saved_;
  checkpoints_.done(begun.id, bytes, seconds_since(start));
  if (publisher_.due(over || checkpoints_.ending()))
    export_for_serving(begun.id, snapshot.declared);
  return true;
}

// An error affects this export only.
void JobControl::export_for_serving(std::int64_t checkpoint, const Declarations& declared) try {
  if (declared.tables.empty() && declared.dense.empty()) return;  // no trainer has begun
  const auto start = Clock::now();
  const Published what =
      publisher_.publish(declared, view_.servers.map, fmt::format("checkpoint {}", checkpoint),
                         [this] { checkpoints_.put({}); });
  checkpoints_.say(line_of(what, seconds_since(start)));
  if (options_.exported) options_.exported(what.number);
} catch (const Deposed&) {
  throw;
} catch (const std::exception& error) {
  checkpoints_.say(std::string("no export: ") + error.what());
  if (options_.not_exported) options_.not_exported();
}

}  // namespace trireme::distributed
