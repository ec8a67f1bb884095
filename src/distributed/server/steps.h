#pragma once

// Who has finished which step.

#include <cstdint>
#include <map>
#include <vector>

#include "distributed/transport/frame_server.h"

namespace trireme::distributed {

// Guarded by its user.
class Steps {
 public:
  std::uint32_t generation() const { return generation_; }
  int members() const { return static_cast<int>(finished_.size()); }
  // A generation of so many members, ranks 0 to members - 1, none of which has finished anything.
  // Returns the answers of those who waited in the one before.
  std::vector<Answer> begin(std::uint32_t generation, int members);

  // Whether a member may say that it has finished this step, when `applied` is the last one that
  // was applied here: whoever waits for its answers is at most one step beyond what all have
  // finished. Where nothing is known of the generation yet it is told from `applied`, generously,
  // since others may have applied more. Errors: usage.
  void check(std::uint64_t step, std::uint64_t applied) const;

  // The member has finished the step, and waits until the others have. `examples`: how many its
  // gradients are the sum of.
  void finish(std::uint32_t rank, std::uint64_t step, std::uint32_t examples, Answer answer);
  // Of all members in a step that all have finished; known of the last few of these.
  std::uint64_t examples(std::uint64_t step) const;
  // What all members have finished.
  std::uint64_t finished_by_all() const;
  // Those who need not wait any longer.
  std::vector<Answer> take_ready();

 private:
  struct Waiting {
    std::uint32_t rank;
    std::uint64_t step;
    Answer answer;
  };
  std::uint32_t generation_ = 0;
  std::vector<std::uint64_t> finished_;
  std::uint64_t first_ = 0;  // step that anybody finished in this generation: all begin with it
  std::vector<Waiting> waiting_;  // one for each rank at most
  std::map<std::uint64_t, std::map<std::uint32_t, std::uint32_t>> examples_;  // by step and rank
};

}  // namespace trireme::distributed
