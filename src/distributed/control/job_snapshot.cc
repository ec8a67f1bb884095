#include "distributed/control/job_snapshot.h"

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
  constexpr std::int64_t kMax = 1 << 28;
  std::vector<std::int64_t> ids;
  for (const Json& range : ranges) {
    const auto first = range.at(0).get<std::int64_t>(), last = range.at(1).get<std::int64_t>();
    if (first < 0 || last < first || last > kMax) throw std::runtime_error("a range of tasks");
    for (std::int64_t id = first; id < last; ++id) ids.push_back(id);
  }
  return ids;
}

}  // namespace

std::string text_of(const JobSnapshot& snapshot) {
  Json json;
  json["epoch"] = snapshot.queue.epoch;
  json["done"] = ranges_of(snapshot.queue.done);
  json["failed"] = ranges_of(snapshot.queue.failed);
  json["updates"] = snapshot.updates;
  json["over"] = snapshot.over;
  json["ticks"] = snapshot.ticks;
  json["declared"] = json_of(snapshot.declared);
  return json.dump();
}

JobSnapshot job_snapshot_of(std::string_view text) {
  return parsed_json(text, "cut of a job", [](const Json& json) {
    JobSnapshot snapshot;
    snapshot.queue.epoch = json.at("epoch").get<std::int64_t>();
    snapshot.queue.done = ids_of(json.at("done"));
    snapshot.queue.failed = ids_of(json.at("failed"));
    snapshot.updates = json.at("updates").get<std::uint64_t>();
    snapshot.over = json.at("over").get<bool>();
    snapshot.ticks = json.value("ticks", std::int64_t{0});
    snapshot.declared = declared_in(json.at("declared"));
    return snapshot;
  });
}

}  // namespace trireme::distributed
