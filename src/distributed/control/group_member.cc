#include "distributed/control/group_member.h"

#include <fmt/core.h>

#include <cstring>
#include <thread>

#include "base/error.h"
#include "distributed/checkpoint/restore.h"
#include "distributed/control/orders.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kOrderPoll{20};  // between two looks at what the leader wants
constexpr Milliseconds kStateReadTimeout{
    100};  // in which the store says what it is; others wait meanwhile

checkpoint::DenseRange dense_range(std::size_t bytes) {
  const auto size = static_cast<std::int64_t>(bytes);
  return {"state of the group", u8, {size}, 0, size};
}

}  // namespace

GroupMember::GroupMember(Store& store, const GroupMemberOptions& options)
    : store_(store),
      options_(options),
      writer_({.server = options.name}),
      orders_([this] { return store_.get(save_key(options_.prefix)); }) {}

// Polls `ask` until it returns a value; returns nothing if it must stop waiting.
template <class Ask>
auto GroupMember::patiently(const Ask& ask) {
  const auto end = std::chrono::steady_clock::now() + options_.patience;
  for (;;) {
    std::string reason = "no master has said with what the trainers are to begin";
    try {
      if (auto answer = ask()) return answer;
    } catch (const Unavailable& error) {
      reason = error.what();
    }
    if (options_.stop && options_.stop()) return decltype(ask())();
    if (std::chrono::steady_clock::now() > end) throw Unavailable(reason);
    std::this_thread::sleep_for(kOrderPoll);
  }
}

// All members of the group ask. The question of a later group replaces that of an earlier one,
// which has ended.
void GroupMember::ask_for_start(std::int64_t generation) {
  const std::string key = founded_key(options_.prefix);
  const std::optional<Entry> entry = store_.get(key);
  if (founded_in(entry) >= generation) return;
  const Condition as_read{
      key, Condition::Of::modified, Condition::Is::equal, {}, entry ? entry->modified : 0};
  store_.commit({.when = {as_read}, .then = {Put{key, std::to_string(generation)}}});
}

std::optional<GroupStart> GroupMember::found(std::int64_t generation) {
  return patiently([&]() -> std::optional<GroupStart> {
    const GroupStart start = read_start(store_, options_.prefix);
    if (start.generation >= generation) return start;
    ask_for_start(generation);
    return std::nullopt;
  });
}

GroupStart GroupMember::start() {
  return patiently([&] { return std::optional(read_start(store_, options_.prefix)); })
      .value_or(GroupStart());
}

std::vector<std::byte> GroupMember::load(const GroupStart& start, std::size_t bytes) {
  std::vector<std::byte> state(bytes);
  checkpoint::Catalog catalog(
      store_, {.folder = options_.folder, .prefix = options_.prefix + "checkpoint/"});
  checkpoint::Share share;
  share.dense.push_back({dense_range(bytes), [&](std::uint64_t offset, std::string_view piece) {
                           std::memcpy(state.data() + offset, piece.data(), piece.size());
                         }});
  checkpoint::load(catalog, catalog.list(), start.checkpoint, share);
  return state;
}

void GroupMember::save_if_asked(std::int64_t committed,
                                const std::function<std::vector<std::byte>()>& state) {
  const auto now = std::chrono::steady_clock::now();
  if (options_.folder.empty() || now < next_poll_) return;
  next_poll_ = now + kOrderPoll;
  const auto order = orders_.now(kStateReadTimeout);
  if (!order || !*order) return;
  try {
    save(**order, committed, state);
  } catch (const Unavailable&) {  // at the next look
  }
}

void GroupMember::save(const Entry& order, std::int64_t committed,
                       const std::function<std::vector<std::byte>()>& state) {
  const checkpoint::Begun begun = save_order_of(order.value).checkpoint;
  if (begun.id <= written_) return;
  if (saved_.checkpoint != begun.id) saved_ = write(begun, committed, state());
  store_.put(saved_key(options_.prefix), text_of(saved_));
  written_ = begun.id;
}

GroupSaved GroupMember::write(const checkpoint::Begun& begun, std::int64_t committed,
                              std::span<const std::byte> state) {
  GroupSaved saved{begun.id, committed, {}, ""};
  const checkpoint::DenseRows rows{dense_range(state.size()),
                                   [&](std::uint64_t offset, char* to, std::size_t count) {
                                     std::memcpy(to, state.data() + offset, count);
                                   }};
  try {
    saved.parts = writer_.write(begun, {}, {rows});
  } catch (const Error& error) {
    saved.problem = error.what();
  }
  return saved;
}

}  // namespace trireme::distributed
