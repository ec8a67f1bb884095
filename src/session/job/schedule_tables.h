#pragma once

// The schedule of a job that consists of other schedules.

#include <cstdint>
#include <vector>

#include "nn/catalog/field.h"
#include "session/job/node.h"

namespace trireme::job {

inline constexpr const char* kSequential = "sequential";

struct SequentialSchedule {
  std::vector<std::int64_t> epochs = {};
  const Node* schedules = nullptr;
};
template <class Visit>
void fields(Visit& visit, SequentialSchedule& o) {
  visit(nn::Field{"epochs", "when the next schedule begins, such as `[5, 20]`", nn::kExtent, true,
                  "", "epochs"},
        o.epochs);
  visit(nn::Field{.name = "schedules",
                  .doc = "the schedules, one more than `epochs`; each may have `warmup_steps`",
                  .required = true,
                  .definition = "schedules"},
        o.schedules);
}

}  // namespace trireme::job
