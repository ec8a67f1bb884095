#pragma once

// The finished steps of members.

#include <cstdint>
#include <map>
#include <vector>

#include "distributed/transport/frame_server.h"

namespace trireme::distributed {

// The caller synchronizes.
class Steps {
 public:
  std::uint32_t generation() const { return generation_; }
  int members() const { return static_cast<int>(finished_.size()); }
  // Starts a generation of `members` members without finished steps. Returns the answers that
  // waited in the previous one.
  std::vector<Answer> begin(std::uint32_t generation, int members);

  // Whether a member may have finished this step if `applied` is the last one applied here. A
  // member that waits for its answers is at most one step ahead of all. If the generation is new,
  // the check is generous, because other servers may have applied more. Errors: usage.
  void check(std::uint64_t step, std::uint64_t applied) const;

  // The member has finished the step and waits for the others. `examples`: the number of examples
  // that its gradients are sums over.
  void finish(std::uint32_t rank, std::uint64_t step, std::uint32_t examples, Answer answer);
  // The examples of all members in a step that all have finished; known for the last few steps.
  std::uint64_t examples(std::uint64_t step) const;
  // The first rank that has not finished this step; the number of members if all have.
  std::uint32_t first_unfinished(std::uint64_t step) const;
  // The last step that all members have finished.
  std::uint64_t finished_by_all() const;
  // The answers that need not wait any longer.
  std::vector<Answer> take_ready();

 private:
  struct Waiting {
    std::uint32_t rank;
    std::uint64_t step;
    Answer answer;
  };
  std::uint32_t generation_ = 0;
  std::vector<std::uint64_t> finished_;
  std::uint64_t first_ =
      0;  // the first finished step of this generation: all members begin with it
  std::vector<Waiting> waiting_;  // at most one for each rank
  std::map<std::uint64_t, std::map<std::uint32_t, std::uint32_t>> examples_;  // by step and rank
};

}  // namespace trireme::distributed
