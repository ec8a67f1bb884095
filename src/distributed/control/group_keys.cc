#include "distributed/control/group_keys.h"

#include <charconv>

#include "base/error.h"
#include "distributed/checkpoint/part_json.h"
#include "distributed/coordination/message.h"

namespace trireme::distributed {

std::string text_of(const GroupStart& start) { return encode(start); }
std::string text_of(const GroupSaved& saved) { return encode(saved); }

GroupStart group_start_of(const std::string& text) {
  return decode<GroupStart>(text, "the start of a group");
}
GroupSaved group_saved_of(const std::string& text) {
  return decode<GroupSaved>(text, "a report of a member's saved data");
}

std::int64_t founded_in(const std::optional<Entry>& entry) {
  std::int64_t generation = 0;
  if (!entry) return generation;
  const std::string& text = entry->value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), generation);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail_data("\"" + text + "\" is no generation of a group");
  }
  return generation;
}

GroupStart read_start(Store& store, const std::string& prefix) {
  const std::optional<Entry> entry = store.get(start_key(prefix));
  return entry ? group_start_of(entry->value) : GroupStart();
}

}  // namespace trireme::distributed
