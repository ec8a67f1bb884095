#include "distributed/collectives/elastic_group.h"

#include <algorithm>
#include <array>
#include <span>

#include "distributed/collectives/agreement.h"
#include "distributed/collectives/keeper.h"

namespace trireme::distributed {
namespace {

constexpr std::size_t kPiece = 4 * 1024 * 1024;  // bytes of a state that are sent at a time

enum class Agreed : std::uint8_t { go_on, committed, restored };

std::vector<Standing> standings_of_all(Group& group, const Standing& own) {
  std::vector<Standing> all(static_cast<std::size_t>(group.size()));
  group.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace

struct ElasticGroup::State {
  const ElasticOptions options;
  const ElasticState callbacks;
  std::int64_t committed;
  std::int64_t tried_number = 0;       // the last generation whose members we have talked to
  std::int64_t agreed_number = 0;      // the last one that has agreed
  std::shared_ptr<Group> agreed = {};  // the group of that
  bool exchanged = false;
  std::int64_t breaks = 0;
  Keeper keeper;

  State(Store& store, const ElasticOptions& o, ElasticState c, std::int64_t committed_steps)
      : options(o), callbacks(std::move(c)), committed(committed_steps), keeper(store, o) {}

  Agreed agree();
  Agreed agree_in(Group& group);
  void transfer(Group& group, int source, bool needed);
  bool up_to_date() const { return agreed != nullptr && agreed == keeper.group(); }
};

ElasticGroup::ElasticGroup(Store& store, const ElasticOptions& options, ElasticState state,
                           std::int64_t committed)
    : state_(std::make_unique<State>(store, options, std::move(state), committed)) {}

ElasticGroup::~ElasticGroup() = default;

std::int64_t ElasticGroup::committed() const { return state_->committed; }
std::int64_t ElasticGroup::breaks() const { return state_->breaks; }

std::shared_ptr<Group> ElasticGroup::begin() {
  if (!state_->up_to_date()) state_->agree();
  return state_->agreed;
}

bool ElasticGroup::step(const std::function<void(const std::shared_ptr<Group>&)>& exchange) {
  for (;;) {
    if (!state_->up_to_date()) {
      const Agreed agreed = state_->agree();
      if (agreed != Agreed::go_on) return agreed == Agreed::committed;
    }
    try {
      exchange(state_->agreed);
      state_->exchanged = true;
      state_->agreed->barrier();
      state_->exchanged = false;
      ++state_->committed;
      return true;
    } catch (const GroupBroken&) {  // the keeper knows, and forms the next one
    }
  }
}

// Until all members of a group have agreed.
Agreed ElasticGroup::State::agree() {
  const auto deadline = Keeper::Clock::now() + options.patience;
  agreed.reset();
  if (agreed_number != 0) ++breaks;
  for (;;) {
    std::shared_ptr<Group> group = keeper.wait_after(tried_number, deadline);
    tried_number = group->generation();
    try {
      const Agreed result = agree_in(*group);
      agreed = std::move(group);
      return result;
    } catch (const GroupBroken&) {
    }
  }
}

Agreed ElasticGroup::State::agree_in(Group& group) {
  const bool in_step_before = agreed_number != 0 && keeper.in_all_since(agreed_number);
  const std::vector<Standing> standings =
      standings_of_all(group, {committed, in_step_before ? 1 : 0, exchanged ? 1 : 0});
  const auto in_step = [](const Standing& member) { return member.in_step != 0; };
  if (callbacks.found && std::none_of(standings.begin(), standings.end(), in_step)) {
    committed = callbacks.found(group.generation());
    agreed_number = group.generation();
    exchanged = false;
    return Agreed::restored;
  }
  const Agreement agreement = agree_on(standings);
  const bool needed = agreement.needs[static_cast<std::size_t>(group.rank())];
  if (agreement.anyone_needs()) transfer(group, agreement.source, needed);
  const bool caught_up = committed != agreement.committed;
  committed = agreement.committed;
  agreed_number = group.generation();
  exchanged = false;
  if (needed) return Agreed::restored;
  return caught_up ? Agreed::committed : Agreed::go_on;
}

// Sends the state of `source` to all members that need it; the others forward it.
void ElasticGroup::State::transfer(Group& group, int source, bool needed) {
  std::vector<std::byte> bytes;
  if (group.rank() == source) bytes = callbacks.save();
  std::array<std::int64_t, 1> size = {static_cast<std::int64_t>(bytes.size())};
  group.broadcast(std::as_writable_bytes(std::span(size)), source);
  const auto whole = static_cast<std::size_t>(size[0]);
  const bool keep = needed || group.rank() == source;
  bytes.resize(keep ? whole : std::min(whole, kPiece));
  for (std::size_t first = 0; first < whole; first += kPiece) {
    const std::size_t count = std::min(kPiece, whole - first);
    group.broadcast(std::span(bytes).subspan(keep ? first : 0, count), source);
  }
  if (needed) callbacks.restore(bytes);
}

}  // namespace trireme::distributed
