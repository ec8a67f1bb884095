#include "distributed/launch/task_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr std::uint32_t kTasksPerRequest = 4;  // tasks that are taken together

// After this number of others a trainer ends: another one may succeed.
bool is_of_data(const Error& error) {
  return error.kind() == ErrorKind::data || error.kind() == ErrorKind::not_found;
}

}  // namespace

std::string text_of(const BatchRange& range) {
  return std::to_string(range.first) + " " + std::to_string(range.last);
}

BatchRange range_of(const std::string& task) {
  BatchRange range;
  const char* const end = task.data() + task.size();
  const auto first = std::from_chars(task.data(), end, range.first);
  const bool space = first.ec == std::errc() && first.ptr != end && *first.ptr == ' ';
  const auto last = space ? std::from_chars(first.ptr + 1, end, range.last) : first;
  if (!space || last.ec != std::errc() || last.ptr != end || range.first < 0 ||
      range.last < range.first) {
    fail_data("\"" + task + "\" is no task: two numbers of batches, such as \"12 28\"");
  }
  return range;
}

std::string described(const BatchRange& range) {
  return "batches " + std::to_string(range.first) + " to " + std::to_string(range.last - 1);
}

std::vector<std::string> tasks_of(std::int64_t batches, std::int64_t task_batches) {
  std::vector<std::string> tasks;
  for (std::int64_t first = 0; first < batches; first += task_batches) {
    tasks.push_back(text_of(BatchRange{first, std::min(first + task_batches, batches)}));
  }
  return tasks;
}

TaskReader::TaskReader(TaskClient& client, const data::Batches& batches, Bad bad, Lost lost)
    : client_(client), batches_(batches), bad_(std::move(bad)), lost_(std::move(lost)) {
  client_.on_lost([this](const Task& task) { lose(task); });
}

TaskReader::~TaskReader() { client_.on_lost({}); }

// It is handed out again, so its training ends here.
void TaskReader::lose(const Task& task) {
  const auto is_it = [&](const Current& one) {
    return one.task.id == task.id && one.task.attempt == task.attempt && one.epoch == task.epoch;
  };
  if (!tasks_.empty() && is_it(tasks_.front())) peeked_.reset();
  std::erase_if(tasks_, is_it);
  if (lost_) lost_(task);
}

void TaskReader::take() {
  const Taken taken = client_.take(kTasksPerRequest, through_);  // no others are left
  all_done_ = taken.all_done && taken.tasks.empty();
  for (const Task& task : taken.tasks) {
    const BatchRange range = range_of(task.data);
    tasks_.push_back({task, taken.epoch, range, range.first, taken.rollbacks});
  }
}

bool TaskReader::have() {
  if (tasks_.empty() && !all_done_) take();
  return !tasks_.empty();
}

// For the first task, which stays the first one.
TaskReader::Read TaskReader::read_batch() {
  Current& current = tasks_.front();
  if (numbered_ != current.epoch) {
    epoch_.emplace(batches_.numbered(current.epoch - 1));
    numbered_ = current.epoch;
  }
  Read read{epoch_->at(current.at), static_cast<std::uint32_t>(current.task.id),
            static_cast<std::uint32_t>(current.epoch),
            static_cast<std::uint32_t>(current.at - current.range.first)};
  read.rollbacks = current.rollbacks;
  read.place = (current.epoch - 1) * batches_.size() + current.at;
  read.last = ++current.at >= current.range.last;
  return read;
}

std::optional<TaskReader::Read> TaskReader::read() {
  if (!have()) return std::nullopt;
  try {
    return read_batch();
  } catch (const Error& error) {
    const Task task = std::move(tasks_.front().task);
    tasks_.pop_front();
    client_.give_back({task}, error.what(), !is_of_data(error));
    if (!is_of_data(error)) throw;
    if (bad_) bad_(task, error.what());
    return std::nullopt;  // there may be others
  }
}

const TaskReader::Read* TaskReader::peek() {
  if (peeked_) return &*peeked_;
  if (!have()) return nullptr;
  const Current& current = tasks_.front();
  if (current.task.again && current.at == current.range.first) return nullptr;
  try {
    peeked_ = read_batch();
  } catch (const Error&) {
    return nullptr;
  }
  return &*peeked_;
}

std::optional<TaskReader::Read> TaskReader::next() {
  std::optional<Read> next = peeked_ ? std::exchange(peeked_, std::nullopt) : read();
  if (!next) return next;
  last_ = tasks_.front().task;
  if (next->last) {
    rollbacks_ = tasks_.front().rollbacks;
    through_.push_back(std::move(tasks_.front().task));
    tasks_.pop_front();
  }
  return next;
}

bool TaskReader::give_back(const std::string& why) {
  const bool learned = last_ && client_.give_back({*last_}, why, true).learned;
  leave();
  return learned;
}

void TaskReader::forget_before(std::uint32_t rollbacks) {
  if (peeked_ && peeked_->rollbacks < rollbacks) peeked_.reset();
  std::erase_if(tasks_, [&](const Current& each) { return each.rollbacks < rollbacks; });
  if (rollbacks_ < rollbacks) through_.clear();
}

void TaskReader::finish() {
  if (through_.empty()) return;
  client_.finish(through_);
  through_.clear();
  last_.reset();
}

void TaskReader::leave(std::optional<Milliseconds> timeout) {
  client_.release(timeout);
  last_.reset();
  peeked_.reset();
  tasks_.clear();
  through_.clear();
}

}  // namespace trireme::distributed
