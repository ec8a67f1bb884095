#include "distributed/control/job_control.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/server/spread.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kLongest{600000};  // in which a server saves or loads all it has
constexpr Milliseconds kShort{5000};      // the same of what takes no time
constexpr Milliseconds kPublished{500};   // between two words on tasks that are over

std::string rolling_key(const std::string& prefix) { return prefix + "rolling-back"; }

// The current move of the leader, so that the next leader can finish it: a SlotMove, or "servers
// 3".
std::string moving_key(const std::string& prefix) { return prefix + "moving"; }

// The map after the move.
SlotMap after(const SlotMap& map, const std::string& moving) {
  if (!moving.starts_with("servers ")) {
    const SlotMove move = slot_move_of(moving);
    return map.moved(move.first, move.last, move.to);
  }
  const int servers = std::stoi(moving.substr(8));
  return servers > map.servers() ? map.moved(0, 0, servers - 1) : map.moved_to(servers);
}

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
  const auto addresses = servers(now);
  if (!addresses) return;
  if (!placed_ || *addresses != view_.servers.addresses) return roll_back(*addresses);
  if (options_.synchronous) {
    const std::vector<std::string> members = trainers();
    if (members != view_.members) regroup(members);
  }
  grow_old();
  publish_completed();
  if (!checkpoints_.draining() && reshard()) return;
  checkpoints_.poll(view_.rollbacks,
                    [this](const QueueState& queue, bool over) { return save(queue, over); });
}

// Finishes the work of the previous leader.
void JobControl::begin(const Leadership& leadership) {
  const std::optional<JobView> view = read_job_view(store_, options_.prefix);
  const bool half_done = store_.get(rolling_key(options_.prefix)).has_value();
  placed_ = view.has_value() && !half_done;
  ticks_published_ = false;
  completed_published_.reset();
  view_ = view.value_or(JobView{});
  moving_.reset();
  saved_ = 0;
  publisher_.begin();
  server_clients_.aim(view_.servers.addresses, leadership.epoch);
  if (placed_) master_.go_on(view_.rollbacks);
}

std::optional<std::vector<std::string>> JobControl::servers(int count) {
  std::vector<std::string> addresses(static_cast<std::size_t>(count));
  for (const ProcessEntry& server : ProcessRegistry(store_, options_.prefix).list("server")) {
    const auto place = static_cast<std::size_t>(server.place.value_or(count));
    if (place < addresses.size()) addresses[place] = server.address;
  }
  for (const std::string& address : addresses) {
    if (address.empty()) return std::nullopt;
  }
  return addresses;
}

bool JobControl::gone(std::size_t place, const std::string& address) {
  try {
    for (const ProcessEntry& server : ProcessRegistry(store_, options_.prefix).list("server")) {
      if (server.place == static_cast<int>(place)) return server.address != address;
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

// Publishes the view if this master still leads.
void JobControl::publish(std::vector<Action> more) {
  more.push_back(Put{view_key(options_.prefix), text_of(view_)});
  checkpoints_.put(std::move(more));
}

// --- Going back

void JobControl::roll_back(const std::vector<std::string>& addresses) {
  const auto start = Clock::now();
  const std::string rolling = rolling_key(options_.prefix);
  checkpoints_.put({Put{rolling, "1"}});
  placed_ = false;
  completed_published_.reset();
  publisher_.start_anew();
  checkpoints_.drop();
  const bool first = view_.servers.map.version() == 0;
  // Slots of an unfinished move are loaded at their destination, but dense parameters stay on the
  // present number of servers.
  if (const std::optional<Entry> half = store_.get(moving_key(options_.prefix))) {
    SlotMap& map = view_.servers.map;
    map = half->value.starts_with("servers ") ? map.moved(0, 0, 0).moved(0, 0, 0)
                                              : after(map, half->value);
  }
  moving_.reset();
  view_.servers.addresses = addresses;
  if (first) view_.servers.map = SlotMap::balanced(options_.servers);
  server_clients_.aim(addresses, checkpoints_.epoch());
  server_clients_.set_map(view_.servers.map);
  ++view_.generation;
  server_clients_.set_members(view_.generation, 0);  // from here on nothing of before is taken
  const auto [id, snapshot] = checkpoints_.newest(
      view_.rollbacks == 0, [this](checkpoint::Catalog&, std::int64_t checkpoint,
                                   const JobSnapshot& what) { return load(checkpoint, what); });
  if (id == 0) load(0, {});
  ++view_.rollbacks;
  view_.step = 0;
  view_.updates = snapshot.updates;
  view_.members = options_.synchronous ? trainers() : std::vector<std::string>();
  server_clients_.set_members(view_.generation, view_.members.size());
  if (!master_.restore(snapshot.queue)) throw Deposed();
  view_.ticks = snapshot.ticks;
  view_.ticks_seen = ticks_at(snapshot.queue);
  ticks_published_ = false;
  publish({Erase{rolling}, Erase{moving_key(options_.prefix)}});
  placed_ = true;
  master_.go_on(view_.rollbacks);
  if (!first || snapshot.queue.epoch > 0) {
    checkpoints_.say(fmt::format("{} servers went back to epoch {} with {} tasks done, in {:.2f} s",
                                 addresses.size(), std::max<std::int64_t>(snapshot.queue.epoch, 1),
                                 snapshot.queue.done.size(), seconds_since(start)));
  }
}

// Whether all servers succeeded.
bool JobControl::load(std::int64_t checkpoint, const JobSnapshot& snapshot) {
  const auto blocks =
      blocks_by_server(snapshot.declared.dense, std::max(view_.servers.map.servers(), 1));
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

// --- Changes of the number of servers

int JobControl::wanted_servers() {
  const std::optional<Entry> wanted = store_.get(wanted_servers_key(options_.prefix));
  const int now = view_.servers.map.servers();
  int servers = 0;
  if (wanted) {
    const std::string& text = wanted->value;
    std::from_chars(text.data(), text.data() + text.size(), servers);
  }
  return servers < 1 ? now : std::min(servers, kMaxServers);
}

// One step towards the wanted number of servers. Returns whether there was one.
bool JobControl::reshard() {
  if (const std::optional<Entry> half = store_.get(moving_key(options_.prefix))) {
    if (half->value.starts_with("servers ")) change_servers(std::stoi(half->value.substr(8)));
    else move(slot_move_of(half->value));
    return true;
  }
  if (checkpoints_.ending())
    return false;  // the next servers take up what there is, however many they are
  const int wanted = wanted_servers(), now = view_.servers.map.servers();
  if (wanted == now && !moving_) return false;
  if (wanted > now && !servers(wanted)) return false;  // the new ones are not there yet
  if (!moving_) moving_.emplace(options_.move_bytes / 4);
  if (Clock::now() < moving_->next) return true;
  if (wanted > now) {
    change_servers(wanted);
  } else if (const auto next = mover_.next(view_.servers.map, wanted, moving_->bytes)) {
    move(*next);
  } else {
    if (wanted < now) change_servers(wanted);
    report_moves(wanted);
    moving_.reset();
    return true;
  }
  // Trainers continue for as long as slots were refused.
  moving_->next =
      Clock::now() + std::chrono::microseconds(static_cast<std::int64_t>(1e6 * moving_->last));
  return true;
}

void JobControl::report_moves(int servers) {
  const std::uint64_t rows = std::max<std::uint64_t>(server_clients_.rows(), 1);
  checkpoints_.say(fmt::format(
      "{} servers: {} slots moved, with {:.1f}% of the rows, in {} moves and {:.2f} s; "
      "none was refused for more than {:.0f} ms",
      servers, moving_->slots, 100 * static_cast<double>(moving_->rows) / static_cast<double>(rows),
      moving_->moves, seconds_since(moving_->since), 1e3 * moving_->longest));
}

void JobControl::intend(const std::string& what) {
  checkpoints_.put({Put{moving_key(options_.prefix), what}});
}

void JobControl::move(const SlotMove& move) {
  const SlotMap next = view_.servers.map.moved(move.first, move.last, move.to);
  intend(text_of(move));
  const auto start = Clock::now();
  std::uint64_t rows = 0;
  if (!mover_.has_arrived(move, next)) {
    mover_.prepare(move);
    rows = mover_.copy(move, next);
  }
  server_clients_.set_map(next);
  publish_map(next, {Erase{moving_key(options_.prefix)}}, next.servers());
  if (moving_) {
    moving_->last = seconds_since(start);
    moving_->longest = std::max(moving_->longest, moving_->last);
    moving_->slots += move.last - move.first;
    moving_->rows += rows;
    ++moving_->moves;
    moving_->bytes = next_bytes(moving_->bytes, moving_->last, options_.move_bytes);
  }
  mover_.drop(move);
}

// The number of servers with dense parameters. Servers that end have no slots any more; new ones
// have none yet.
void JobControl::change_servers(int servers) {
  const int before = view_.servers.map.servers();
  const auto addresses = this->servers(std::max(servers, before));
  if (!addresses) throw Unavailable("a parameter server is gone");
  const std::string what = fmt::format("servers {}", servers);
  intend(what);
  server_clients_.aim(*addresses, checkpoints_.epoch());
  // New servers accept pushes of this generation, as the others do, and their tables start with the
  // clock of the others.
  if (servers > before) {
    server_clients_.set_members(view_.generation, view_.members.size());
    publish_ticks();
    publish_completed(/*at_once=*/true);
  }
  const SlotMap next = after(view_.servers.map, what);
  const auto start = Clock::now();
  mover_.move_dense(before, next);
  view_.servers.addresses.assign(addresses->begin(), addresses->begin() + servers);
  std::vector<Action> more = {Erase{moving_key(options_.prefix)}};
  for (int place = servers; place < before; ++place) {
    more.push_back(Put{drained_key(options_.prefix, place), "1"});
  }
  for (int place = before; place < servers; ++place) {
    more.push_back(Erase{drained_key(options_.prefix, place)});
  }
  publish_map(next, std::move(more), before);
  server_clients_.aim(view_.servers.addresses, checkpoints_.epoch());
  mover_.drop_dense(before, servers);
  if (moving_) moving_->longest = std::max(moving_->longest, moving_->last = seconds_since(start));
}

// With a new map, synchronous steps begin a new generation. Both are published at once: if the
// leader fails before, the next one repeats all. `known`: the number of earlier servers.
void JobControl::publish_map(const SlotMap& map, std::vector<Action> more, int known) {
  view_.servers.map = map;
  if (options_.synchronous) begin_generation(view_.members, known);
  publish(std::move(more));
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
    view_.ticks += due - view_.ticks_seen;
    view_.ticks_seen = due;
    ticks_published_ = false;
    publish();
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

// No member is in a step of the new generation before it is published, so servers do not change
// meanwhile. New servers continue from the step of the others.
void JobControl::begin_generation(const std::vector<std::string>& members, int known) {
  ++view_.generation;
  server_clients_.set_members(view_.generation, members.size());
  const ServerClients::Progress progress = server_clients_.progress(known);
  for (int server = known; server < server_clients_.servers(); ++server) {
    server_clients_.begin_at(server, view_.generation, members.size(), progress);
  }
  view_.step = progress.step;
  view_.updates = progress.updates;
  view_.members = members;
}

void JobControl::regroup(const std::vector<std::string>& members) {
  begin_generation(members, server_clients_.servers());
  publish();
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
