// Changes of the number of servers: slots and dense parameters move between them.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "distributed/control/job_control.h"
#include "distributed/control/leader_keys.h"

namespace trireme::distributed {
namespace {

// So that a change, which notes each of them, fits into a transaction.
constexpr int kServersAtOnce = static_cast<int>(kMaxActions) - 28;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The next number of servers on the way to the wanted one.
int step_towards(int wanted, int now) {
  return std::clamp(wanted, now - kServersAtOnce, now + kServersAtOnce);
}

}  // namespace

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

// Finishes a change that this leader, or an earlier one, has begun. Returns whether there was one.
bool JobControl::finish_reshard() {
  if (const std::optional<Entry> half = store_.get(moving_key(options_.prefix))) {
    if (const std::optional<int> servers = servers_of(half->value)) change_servers(*servers);
    else move(slot_move_of(half->value));
    return true;
  }
  if (leftovers_) {
    mover_.drop_leftovers(view_.servers.map);
    leftovers_ = false;
  }
  return false;
}

// One step towards the wanted number of servers. Returns whether there was one.
bool JobControl::reshard() {
  if (finish_reshard()) return true;
  if (checkpoints_.ending())
    return false;  // the next servers take up what there is, however many they are
  const int wanted = wanted_servers(), now = view_.servers.map.servers();
  // An earlier leader, or this one before a rollback, may have left the moves to new servers.
  if (!std::exchange(balance_known_, true) && !moving_ && !is_balanced(view_.servers.map, now)) {
    moving_.emplace(options_.move_bytes / 4);
  }
  if (wanted == now && !moving_) {
    if (leftovers_noted_) put({Erase{leftovers_key(options_.prefix)}});
    return leftovers_noted_ = false;
  }
  if (wanted > now && !servers(wanted)) return false;  // the new ones are not there yet
  if (!moving_) moving_.emplace(options_.move_bytes / 4);
  if (Clock::now() < moving_->next) return true;
  if (wanted > now) {
    change_servers(step_towards(wanted, now));
  } else if (const auto next =
                 mover_.next(view_.servers.map, wanted, moving_->bytes, options_.move_slots)) {
    move(*next);
  } else {
    if (wanted < now) change_servers(step_towards(wanted, now));
    if (view_.servers.map.servers() != wanted) return true;
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

void JobControl::intend(const std::string& what) { put({Put{moving_key(options_.prefix), what}}); }

void JobControl::move(const SlotMove& move) {
  JobView next = view_;
  next.servers.map = map_after(view_.servers.map, text_of(move));
  intend(text_of(move));
  const auto start = Clock::now();
  std::uint64_t rows = 0;
  if (!mover_.has_arrived(move, next.servers.map)) {
    mover_.prepare(move);
    rows = mover_.copy(move, next.servers.map);
  }
  server_clients_.set_map(next.servers.map);
  publish_map(next, {}, next.servers.map.servers());
  if (moving_) {
    moving_->last = seconds_since(start);
    moving_->longest = std::max(moving_->longest, moving_->last);
    moving_->slots += move.last - move.first;
    moving_->rows += rows;
    ++moving_->moves;
    moving_->bytes = next_bytes(moving_->bytes, moving_->last, options_.move_bytes);
  }
  mover_.drop(move);
  leftovers_ = false;
}

// The number of servers with dense parameters. Servers that end have no slots any more; new ones
// have none yet.
void JobControl::change_servers(int servers) {
  const int before = view_.servers.map.servers();
  std::optional<Servers> present = this->servers(std::max(servers, before));
  if (!present) throw Unavailable("a parameter server is gone");
  intend(text_of_servers(servers));
  aim(*present, checkpoints_.epoch());
  // New servers accept pushes of this generation, as the others do, unless a new generation begins
  // below. Their tables start with the clock of the others.
  if (servers > before) {
    if (!options_.synchronous) server_clients_.set_members(view_.generation, 0);
    publish_ticks();
    publish_completed(/*at_once=*/true);
  }
  JobView next = view_;
  next.servers.map = map_after(view_.servers.map, text_of_servers(servers));
  const auto start = Clock::now();
  mover_.move_dense(before, next.servers.map);
  present->addresses.resize(static_cast<std::size_t>(servers));
  present->instances.resize(static_cast<std::size_t>(servers));
  next.servers.addresses = present->addresses;
  next.instances = present->instances;
  std::vector<Action> more;
  for (int place = servers; place < before; ++place) {
    more.push_back(Put{drained_key(options_.prefix, place), "1"});
  }
  for (int place = before; place < servers; ++place) {
    more.push_back(Erase{drained_key(options_.prefix, place)});
  }
  publish_map(std::move(next), std::move(more), before);
  aim(published_servers(), checkpoints_.epoch());
  mover_.drop_dense(before, servers);
  leftovers_ = false;
  if (moving_) moving_->longest = std::max(moving_->longest, moving_->last = seconds_since(start));
}

// With a new map, synchronous steps begin a new generation. Both are published at once: if the
// leader fails before, the next one repeats all. `known`: the number of earlier servers.
void JobControl::publish_map(JobView next, std::vector<Action> more, int known) {
  if (options_.synchronous) begin_generation(next, view_.members, known);
  more.push_back(Erase{moving_key(options_.prefix)});
  if (!leftovers_noted_) more.push_back(Put{leftovers_key(options_.prefix), "1"});
  publish(std::move(next), std::move(more));
  regroup_due_ = false;
  leftovers_ = leftovers_noted_ = true;
}

}  // namespace trireme::distributed
