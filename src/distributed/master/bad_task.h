#pragma once

// Tasks that ended badly, as the store keeps them beside the queue: for people, and so that a job
// that returns to a checkpoint still knows poison tasks.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

// A task that ended badly and was not completed since.
struct BadTask {
  std::int64_t epoch = 0, id = 0;
  std::string what;              // TaskQueueOptions::describe
  bool failed = false;           // it is poison and left out
  int deaths = 0;                // of owners
  std::vector<std::string> why;  // a line for each bad end
};
// Reads them from a store, by epoch and task. `prefix`: as in TaskQueueOptions. Errors: as Store;
// data.
std::vector<BadTask> bad_tasks(Store& store, const std::string& prefix);
// "batches 12 to 27 of epoch 1: ended badly twice: trainer_1 died or was cut off; trainer_4 died or
// was cut off".
std::string text_of(const BadTask& task);

// --- For the queue
inline constexpr std::string_view kBadTasks = "bad/";  // after the prefix of its keys
std::string bad_key(const std::string& prefix, std::int64_t epoch, std::int64_t id);
std::string text_for_key(const BadTask& task);
BadTask bad_task_of(const Entry& entry,
                    std::string_view name);  // `name`: after kBadTasks. Errors: data
// Returns the first line of the text, which describes the event, shortened for a key.
std::string one_line(const std::string& text);

// Parsers of the values of keys: an integer, and the next word, which is removed. Errors: data,
// with the key.
std::int64_t task_number(const std::string& key, std::string_view text);
std::string_view task_word(const std::string& key, std::string_view& rest);

}  // namespace trireme::distributed
