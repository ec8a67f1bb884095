#pragma once

// The requests of trainers to a master, as frames: docs/reference/distributed-jobs.md has a table.

#include <cstdint>
#include <string>
#include <vector>

#include "distributed/master/pace.h"
#include "distributed/master/task_queue.h"
#include "distributed/transport/frame.h"

namespace trireme::distributed {

inline constexpr char kMasterService[] = "Master";  // FrameServerOptions::service

enum class MasterOp : std::uint8_t {
  // The owner's name, its tasks, and in `table` how many it wants. The answer: tasks, and in
  // `generation` how often the job returned to a checkpoint.
  take = 1,
  // The owner's name and tasks. The answer: `count` of them belonged to the owner.
  finish,
  // The same, and why they ended badly; kEnds. The answer: as finish, and kLearned.
  give_back,
  // The owner's name. The owner leaves: its tasks are handed out again. The answer: `count`.
  release,
  // A PaceRequest. The answer, as soon as the step may begin, after at most half a second: a
  // PaceAnswer.
  pace,
};
// All answers have in `sequence` the epoch of the state of the leader. If it changes, changes that
// the previous leader had not written are lost.

// Flags. Of answers to `take`: there are no more tasks.
inline constexpr std::uint8_t kAllDone = 1;
// Of all answers: the store is unavailable to the leader, which cannot know whether another one
// leads. Its changes are not written yet.
inline constexpr std::uint8_t kStoreUnreachable = 2;
// Of requests `give_back`: the owner ends with the error.
inline constexpr std::uint8_t kEnds = 1;
// Of answers to `give_back`: some task of the job is done.
inline constexpr std::uint8_t kLearned = 4;
// Of requests `pace` and their answers.
inline constexpr std::uint8_t kEnters = 1;
inline constexpr std::uint8_t kGo = 1;
inline constexpr std::uint32_t kMaxTasks = 256;  // in a frame

// Whether it is a valid name of a member of the job: not empty, without spaces and '/', at most 200
// bytes.
bool is_owner(const std::string& name);

// A name and header.count tasks. Errors of the parser: data for another payload.
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
