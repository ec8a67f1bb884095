#pragma once

// What the members of a group that learns together and the leader of the job tell each other, by
// keys of the store.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distributed/checkpoint/catalog.h"
#include "distributed/coordination/store.h"

namespace trireme::distributed {

// With what a group began of which nobody had been in one before: said by the leader, once it has
// put the queue of tasks back to the same moment.
struct GroupStart {
  std::int64_t generation = 0;  // the group's
  std::uint32_t rollbacks = 0;  // how often that has happened: tasks of before are to be forgotten
  std::int64_t checkpoint = 0;  // 0: the beginning
  std::int64_t committed = 0;   // steps
  bool operator==(const GroupStart&) const = default;
};

// What a member has written.
struct GroupSaved {
  std::int64_t checkpoint = 0, committed = 0;
  std::vector<checkpoint::Part> parts;
  std::string problem;  // why it could not
};

// Errors of the parsers: data.
std::string text_of(const GroupStart& start);
GroupStart group_start_of(const std::string& text);
std::string text_of(const GroupSaved& saved);
GroupSaved group_saved_of(const std::string& text);

// The generation of the last group that asks with what it is to begin; "start": a GroupStart;
// "save": a SaveOrder for one of the members; "saved": a GroupSaved.
inline std::string founded_key(const std::string& prefix) { return prefix + "founded"; }
inline std::string start_key(const std::string& prefix) { return prefix + "start"; }
inline std::string save_key(const std::string& prefix) { return prefix + "save"; }
inline std::string saved_key(const std::string& prefix) { return prefix + "saved"; }

// The generation that asks, by the value of its key; 0 if there is none. Errors: data.
std::int64_t founded_in(const std::optional<Entry>& entry);
// What was said last; generation 0 if nothing was. Errors: as Store; data.
GroupStart read_start(Store& store, const std::string& prefix);

}  // namespace trireme::distributed
