#pragma once

// The side of the trainer of group_control.h.

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "distributed/checkpoint/writer.h"
#include "distributed/control/group_keys.h"
#include "distributed/coordination/async_store_read.h"

namespace trireme::distributed {

struct GroupMemberOptions {
  std::string prefix;  // of the keys of the job
  std::string name;    // of this process
  std::string folder;  // of checkpoints; empty: there are none
  Milliseconds patience{60000};
  std::function<bool()> stop = {};  // called while waiting: whether to stop
};

// For one thread. While the store is unavailable, functions that need the leader wait, at most for
// the patience. Errors of all functions: Unavailable; data.
class GroupMember {
 public:
  // The store outlives the member.
  GroupMember(Store& store, const GroupMemberOptions& options);

  // Waits for the start of a group of this generation without members of an earlier one. Returns
  // nothing if it must stop waiting.
  std::optional<GroupStart> found(std::int64_t generation);
  // The newest start.
  GroupStart start();
  // Reads the `bytes` bytes of the checkpoint of a start. Errors: Damaged.
  std::vector<std::byte> load(const GroupStart& start, std::size_t bytes);

  // Writes a checkpoint if the leader ordered one and this member has not written it yet. Call it
  // on one of the members while none has a task. Does not wait for an unavailable store. `state`
  // returns the state after `committed` steps.
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
  GroupSaved saved_;          // the last one written
  std::int64_t written_ = 0;  // the last checkpoint that was reported to the leader
  std::chrono::steady_clock::time_point next_poll_ = {};
  AsyncStoreRead<std::optional<Entry>> orders_;  // save orders
};

}  // namespace trireme::distributed
