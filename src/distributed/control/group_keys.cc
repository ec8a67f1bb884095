#include "distributed/control/group_keys.h"

#include <charconv>

#include "base/error.h"
#include "distributed/control/json.h"

namespace trireme::distributed {

std::string text_of(const GroupStart& start) {
  return Json{{"generation", start.generation},
              {"rollbacks", start.rollbacks},
              {"checkpoint", start.checkpoint},
              {"committed", start.committed}}
      .dump();
}

GroupStart group_start_of(const std::string& text) {
  return parsed_json(text, "start of a group", [](const Json& json) {
    return GroupStart{
        json.at("generation").get<std::int64_t>(), json.at("rollbacks").get<std::uint32_t>(),
        json.at("checkpoint").get<std::int64_t>(), json.at("committed").get<std::int64_t>()};
  });
}

std::string text_of(const GroupSaved& saved) {
  Json json{{"checkpoint", saved.checkpoint},
            {"committed", saved.committed},
            {"problem", checkpoint::escaped(saved.problem)}};
  json["parts"] = Json::array();
  for (const checkpoint::Part& part : saved.parts)
    json["parts"].push_back(checkpoint::part_json(part));
  return json.dump();
}

GroupSaved group_saved_of(const std::string& text) {
  return parsed_json(text, "report of what a member has saved", [](const Json& json) {
    GroupSaved saved{json.at("checkpoint").get<std::int64_t>(),
                     json.at("committed").get<std::int64_t>(),
                     {},
                     checkpoint::unescaped(json.at("problem").get<std::string>())};
    for (const Json& part : json.at("parts")) saved.parts.push_back(checkpoint::part_from(part));
    return saved;
  });
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
