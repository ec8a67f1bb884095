#include "distributed/control/job_snapshot.h"

#include "distributed/coordination/message.h"

namespace trireme::distributed {
namespace {

// Ids of tasks, as ranges [first, last): [[0, 12], [14, 20]].
struct TaskIds {
  std::vector<std::int64_t>& ids;
};

message::Json encode_value(const TaskIds& value) {
  auto ranges = message::Json::array();
  for (const std::int64_t id : value.ids) {
    if (!ranges.empty() && ranges.back()[1] == id) ranges.back()[1] = id + 1;
    else ranges.push_back({id, id + 1});
  }
  return ranges;
}

void decode_value(const message::Json& ranges, const TaskIds& value) {
  constexpr std::int64_t kMax = 1 << 28;
  value.ids.clear();
  for (const message::Json& range : ranges) {
    const auto first = range.at(0).get<std::int64_t>(), last = range.at(1).get<std::int64_t>();
    if (first < 0 || last < first || last > kMax) throw std::runtime_error("a range of tasks");
    for (std::int64_t id = first; id < last; ++id) value.ids.push_back(id);
  }
}

// The snapshot as a message.
struct SnapshotMessage {
  JobSnapshot snapshot;

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("epoch", snapshot.queue.epoch);
    visit("done", TaskIds{snapshot.queue.done});
    visit("failed", TaskIds{snapshot.queue.failed});
    visit("updates", snapshot.updates);
    visit("over", snapshot.over);
    visit.defaulted("ticks", snapshot.ticks);
    visit("declared", snapshot.declared);
  }
};

}  // namespace

std::string text_of(const JobSnapshot& snapshot) { return encode(SnapshotMessage{snapshot}); }

JobSnapshot job_snapshot_of(std::string_view text) {
  return decode<SnapshotMessage>(text, "a snapshot of a job").snapshot;
}

}  // namespace trireme::distributed
