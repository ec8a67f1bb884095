#pragma once

// Tasks that have ended badly, as the store keeps them beside the queue: for people, and so that
// poison is known when a job goes back to a checkpoint.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

// A task that has ended badly, and has not been done since.
struct BadTask {
  std::int64_t epoch = 0, id = 0;
  std::string what;              // TaskQueueOptions::describe
  bool failed = false;           // it is poison, and left out
  int deaths = 0;                // of owners
  std::vector<std::string> why;  // of each bad end, a line
};
// As a store has them, by epoch and task. `prefix`: as in TaskQueueOptions. Errors: as Store; data.
std::vector<BadTask> bad_tasks(Store& store, const std::string& prefix);
// "batches 12 to 27 of epoch 1: ended badly twice: trainer_1 died or was cut off; trainer_4 died or
// was cut off".
std::string text_of(const BadTask& task);

// --- For the queue
inline constexpr std::string_view kBadTasks = "bad/";  // behind the prefix of its keys
std::string bad_key(const std::string& prefix, std::int64_t epoch, std::int64_t id);
std::string text_for_key(const BadTask& task);
BadTask bad_task_of(const Entry& entry,
                    std::string_view name);  // `name`: behind kBadTasks. Errors: data
// The first line, which says what has happened, not too long for a key.
std::string one_line(const std::string& text);

// What is in the keys of tasks: a number, and the next word, which is taken off. Errors: data,
// naming the key.
std::int64_t task_number(const std::string& key, std::string_view text);
std::string_view task_word(const std::string& key, std::string_view& rest);

}  // namespace trireme::distributed
