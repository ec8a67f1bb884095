#include "distributed/control/cut.h"

#include "distributed/control/json.h"

namespace trireme::distributed {
namespace {

// [[0, 12], [14, 20]]: ranges [first, last).
Json ranges_of(const std::vector<std::int64_t>& ids) {
  Json ranges = Json::array();
  for (const std::int64_t id : ids) {
    if (!ranges.empty() && ranges.back()[1] == id) ranges.back()[1] = id + 1;
    else ranges.push_back({id, id + 1});
  }
  return ranges;
}

std::vector<std::int64_t> ids_of(const Json& ranges) {
  constexpr std::int64_t kMost = 1 << 28;
  std::vector<std::int64_t> ids;
  for (const Json& range : ranges) {
    const auto first = range.at(0).get<std::int64_t>(), last = range.at(1).get<std::int64_t>();
    if (first < 0 || last < first || last > kMost) throw std::runtime_error("a range of tasks");
    for (std::int64_t id = first; id < last; ++id) ids.push_back(id);
  }
  return ids;
}

}  // namespace

std::string text_of(const Cut& cut) {
  Json json;
  json["epoch"] = cut.queue.epoch;
  json["done"] = ranges_of(cut.queue.done);
  json["failed"] = ranges_of(cut.queue.failed);
  json["updates"] = cut.updates;
  json["over"] = cut.over;
  json["ticks"] = cut.ticks;
  json["declared"] = json_of(cut.declared);
  return json.dump();
}

Cut cut_of(std::string_view text) {
  return parsed_json(text, "cut of a job", [](const Json& json) {
    Cut cut;
    cut.queue.epoch = json.at("epoch").get<std::int64_t>();
    cut.queue.done = ids_of(json.at("done"));
    cut.queue.failed = ids_of(json.at("failed"));
    cut.updates = json.at("updates").get<std::uint64_t>();
    cut.over = json.at("over").get<bool>();
    cut.ticks = json.value("ticks", std::int64_t{0});
    cut.declared = declared_in(json.at("declared"));
    return cut;
  });
}

}  // namespace trireme::distributed
