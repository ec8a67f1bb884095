#pragma once

// What trainers ask a master, as frames: docs/reference/distributed-jobs.md has them in a table.

#include <cstdint>
#include <string>
#include <vector>

#include "distributed/master/pace.h"
#include "distributed/master/task_queue.h"
#include "distributed/transport/frame.h"

namespace trireme::distributed {

inline constexpr char kMasterService[] = "Master";  // FrameServerOptions::service

enum class MasterOp : std::uint8_t {
  take =
      1,  // the owner's name, tasks that it has, and in `table` how many it wants. The answer: tasks, and in
  // `generation` how often the job went back to a checkpoint
  finish,     // the owner's name and tasks. The answer: `count` of them were the owner's
  give_back,  // the same, and why they ended badly; kEnds. kLearned
  release,    // the owner's name, who leaves: all that it has is to do again. The answer: `count`
  pace,  // a PaceRequest. The answer, as soon as the step may begin and after half a second at the latest: a PaceAnswer
};
// All answers have in `sequence` the epoch of the leader since which it knows what it knows:
// another one, and what the one before had not written is void.
inline constexpr std::uint8_t kAllDone =
    1;  // a flag of answers to `take`: there are no tasks any more
// One of all answers: the store is away from the leader, which cannot know whether another one has
// followed. What it does meanwhile is not written yet.
inline constexpr std::uint8_t kOnTrust = 2;
inline constexpr std::uint8_t kEnds = 1;  // of `give_back`: the owner ends by it
inline constexpr std::uint8_t kLearned =
    4;  // of answers to `give_back`: some task of the job is done
inline constexpr std::uint8_t kEnters = 1;  // flags of `pace`, and of its answers
inline constexpr std::uint8_t kGo = 1;
inline constexpr std::uint32_t kMostTasks = 256;  // of a frame

// Whether a member of the job could have that name: it is not empty, has no space and no '/', and
// 200 bytes at most.
bool is_owner(const std::string& name);

// A name and tasks, of which there are header.count. Errors of the parser: data, for what is none
// of these.
struct Owned {
  std::string owner;
  std::vector<Task> tasks;
  std::string why = {};  // of give_back
};
void put_owned(Frame& frame, const Owned& owned);
Owned owned_of(const Frame& frame);

// Errors of the parsers: data.
void put_pace(Frame& frame, const PaceRequest& request);
PaceRequest pace_request_of(const Frame& frame);
void put_pace(Frame& frame, const PaceAnswer& answer);
PaceAnswer pace_answer_of(const Frame& frame);

}  // namespace trireme::distributed
