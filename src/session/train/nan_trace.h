#pragma once

#include <map>
#include <string>
#include <vector>

#include "trireme/session.h"

namespace trireme {

// Keeps enough of the last two training steps to run them again. A loss that is NaN in one step may
// come from a parameter that became NaN in the step before.
class NanTrace {
 public:
  NanTrace(const Program& program, Session& session) : program_(program), session_(session) {}

  void before_step(const Feeds& feeds);

  // Runs these steps again and checks every result. Errors: numeric with the first layer that made
  // NaN or infinity. If there is none, returns with unchanged parameters.
  void find(const std::vector<Value>& fetches, RunOptions mode);

 private:
  struct Snapshot {
    std::uint64_t step;
    Feeds feeds;
    std::map<std::string, Tensor> parameters;
  };
  const Program& program_;
  Session& session_;
  std::vector<Snapshot> snapshots_;  // at most two, oldest first
};

}  // namespace trireme
