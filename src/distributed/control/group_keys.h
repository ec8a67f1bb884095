#pragma once

// Messages between the members of a group of trainers and the leader of the job, as keys of the
// store.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distributed/checkpoint/catalog.h"
#include "distributed/coordination/store.h"

namespace trireme::distributed {

// The start of a group without members of an earlier one: written by the leader after it returned
// the queue of tasks to the same state.
struct GroupStart {
  std::int64_t generation = 0;  // of the group
  std::uint32_t rollbacks = 0;  // number of rollbacks: earlier tasks are void
  std::int64_t checkpoint = 0;  // 0: the start of the training
  std::int64_t committed = 0;   // steps
  bool operator==(const GroupStart&) const = default;

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("generation", generation);
    visit("rollbacks", rollbacks);
    visit("checkpoint", checkpoint);
    visit("committed", committed);
  }
};

// The result of a SaveOrder.
struct GroupSaved {
  std::int64_t checkpoint = 0, committed = 0;
  std::vector<checkpoint::Part> parts;
  std::string problem;  // why it failed

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("checkpoint", checkpoint);
    visit("committed", committed);
    visit("problem", problem);
    visit("parts", parts);
  }
};

// Errors of the parsers: data.
std::string text_of(const GroupStart& start);
GroupStart group_start_of(const std::string& text);
std::string text_of(const GroupSaved& saved);
GroupSaved group_saved_of(const std::string& text);

// "founded": the generation of the last group that needs a start; "start": a GroupStart; "save": a
// SaveOrder for one of the members; "saved": a GroupSaved.
inline std::string founded_key(const std::string& prefix) { return prefix + "founded"; }
inline std::string start_key(const std::string& prefix) { return prefix + "start"; }
inline std::string save_key(const std::string& prefix) { return prefix + "save"; }
inline std::string saved_key(const std::string& prefix) { return prefix + "saved"; }

// The generation in the value of the key "founded"; 0 without the key. Errors: data.
std::int64_t founded_in(const std::optional<Entry>& entry);
// The newest start; generation 0 if there is none. Errors: as Store; data.
GroupStart read_start(Store& store, const std::string& prefix);

}  // namespace trireme::distributed
