#include "session/train/nan_trace.h"

#include "ir/program.h"

namespace trireme {

void NanTrace::before_step(const Feeds& feeds) {
  if (snapshots_.size() == 2) snapshots_.erase(snapshots_.begin());
  Snapshot snapshot{session_.step(), feeds, {}};
  for (const auto& parameter : program_.ir().parameters()) {
    snapshot.parameters.emplace(parameter->name(), session_.parameter(parameter->name()));
  }
  snapshots_.push_back(std::move(snapshot));
}

void NanTrace::find(const std::vector<Value>& fetches, RunOptions mode) {
  mode.check_finite = true;
  for (const Snapshot& snapshot : snapshots_) {
    for (const auto& [name, value] : snapshot.parameters) session_.set_parameter(name, value);
    session_.set_step(snapshot.step);
    session_.run(snapshot.feeds, fetches, mode);
  }
}

}  // namespace trireme
