#pragma once

// A member's end of group_control.h.

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "distributed/checkpoint/writer.h"
#include "distributed/control/group_keys.h"
#include "distributed/coordination/glance.h"

namespace trireme::distributed {

struct GroupMemberOptions {
  std::string prefix;  // of the job's keys
  std::string name;    // of this process
  std::string folder;  // of checkpoints; empty: there are none
  Milliseconds patience{60000};
  std::function<bool()> stop = {};  // asked now and then: whether to wait no longer
};

// One thread calls all functions. While the store is away those that ask the leader wait, at most
// for the patience. Errors of all: Unavailable; data.
class GroupMember {
 public:
  // The store outlives the member.
  GroupMember(Store& store, const GroupMemberOptions& options);

  // What the leader says a group of this generation, of which nobody has been in one before, begins
  // with. Waits for it; nothing, if it is to wait no longer.
  std::optional<GroupStart> found(std::int64_t generation);
  // What was said last.
  GroupStart start();
  // The bytes of a start's checkpoint, so many. Errors: Damaged.
  std::vector<std::byte> load(const GroupStart& start, std::size_t bytes);

  // Writes a checkpoint if one is wanted and this member has not written it yet: to be called by
  // one of the members, now and then while none has a task. Waits for no store that is away.
  // `state`: what is to be in it, after `committed` steps.
  void save_if_asked(std::int64_t committed, const std::function<std::vector<std::byte>()>& state);

 private:
  template <class Ask>
  auto patiently(const Ask& ask);
  void ask_for_start(std::int64_t generation);
  void save(const Entry& order, std::int64_t committed,
            const std::function<std::vector<std::byte>()>& state);
  GroupSaved write(const checkpoint::Begun& begun, std::int64_t committed,
                   std::span<const std::byte> state);

  Store& store_;
  const GroupMemberOptions options_;
  checkpoint::Writer writer_;
  GroupSaved saved_;          // that was written last
  std::int64_t written_ = 0;  // the last checkpoint of which the leader was told
  std::chrono::steady_clock::time_point next_look_ = {};
  Glance<std::optional<Entry>> orders_;  // to save
};

}  // namespace trireme::distributed
