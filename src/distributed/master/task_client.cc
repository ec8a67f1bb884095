#include "distributed/master/task_client.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kRetryDelay{50};      // before the next attempt
constexpr Milliseconds kReplyTimeout{2000};  // in which a master answers
constexpr Milliseconds kFirst{
    700};  // in which one does that may be dead: longer than it lets anybody wait
constexpr Milliseconds kStoreTimeout{1000};  // in which the store does
constexpr Milliseconds kLeaving{2000};

bool is_among(const Task& task, const std::vector<Task>& tasks) {
  return std::any_of(tasks.begin(), tasks.end(), [&](const Task& one) {
    return one.id == task.id && one.attempt == task.attempt && one.epoch == task.epoch;
  });
}

}  // namespace

TaskClient::TaskClient(Store& store, Network& network, TaskClientOptions options)
    : network_(network),
      options_(std::move(options)),
      election_(store, options_.prefix + "master"),
      leaders_([this] { return election_.leader(); }) {
  if (!is_owner(options_.name)) {
    fail_usage("\"" + options_.name + "\" is no name of a trainer: no spaces, no '/'");
  }
}

TaskClient::~TaskClient() = default;

// Reads the leader from the store; while the store does not answer, keeps the known one. Returns
// whether there is one.
bool TaskClient::connect() {
  if (const auto leader = leaders_.now(kStoreTimeout)) address_ = *leader ? (*leader)->name : "";
  if (address_.empty()) return false;
  // The leader may have failed, and another one lead soon. Then the store must be read again, with
  // increasing delays.
  if (std::exchange(answered_, false)) answer_ = kFirst;
  connection_ =
      std::make_unique<Connection>(network_, ConnectionOptions{.address = address_,
                                                               .service = kMasterService,
                                                               .security = options_.security,
                                                               .depth = 1});
  return true;
}

// Whether the store answers, so that a leader without it will be replaced.
bool TaskClient::store_answers() {
  const auto leader = leaders_.now(kStoreTimeout);
  if (!leader) return false;
  if (!*leader || (*leader)->name != address_) connection_.reset();
  return true;
}

Frame TaskClient::ask(Frame request, Believes believes, std::optional<Milliseconds> timeout) {
  Deadline end = in(timeout.value_or(options_.patience));
  problem_ = "there is no master";
  for (bool leaves = false; std::chrono::steady_clock::now() < end;) {
    if (!leaves && options_.stop && options_.stop()) {
      leaves = true;
      end = std::min(end, in(kLeaving));
    }
    // Of a leader that failed since the last answer.
    if (connection_ != nullptr && answered_ && !connection_->open()) connection_.reset();
    if (connection_ != nullptr || connect()) {
      if (auto answer = ask_once(request, believes, std::min(end, in(answer_)))) {
        return std::move(*answer);
      }
    }
    std::this_thread::sleep_for(kRetryDelay);
  }
  throw Unavailable("no master has answered in time: " + problem_);
}

std::optional<Frame> TaskClient::ask_once(const Frame& request, Believes believes,
                                          Deadline until) try {
  Frame answer = connection_->ask(request, until);
  answer_ = kReplyTimeout;
  answered_ = true;
  const Code code = answer.header.code;
  problem_ = connection_->address() + ": " + name_of(code);
  if (code == Code::refused) fail_usage(problem_ + ": " + answer.payload.text());
  if (code == Code::stale) connection_.reset();
  if (code != Code::ok) return std::nullopt;
  hear(answer);
  const bool store_unreachable = (answer.header.flags & kStoreUnreachable) != 0;
  if (believes == Believes::all || !store_unreachable || !store_answers()) return answer;
  problem_ = address_ + ": the store is away from it, and answers here";
  return std::nullopt;
} catch (const Unavailable& error) {
  problem_ = error.what();
  connection_.reset();
  if (!answered_) answer_ = std::min(2 * answer_, kReplyTimeout);
  return std::nullopt;
}

// The provisional changes were written, or another master leads.
void TaskClient::hear(const Frame& answer) {
  const std::uint64_t before = std::exchange(leader_, answer.header.sequence);
  if (before != leader_) return report_again();
  if ((answer.header.flags & kStoreUnreachable) != 0) return;
  given_.clear();
  ended_.clear();
}

// The previous leader may have written some of them.
void TaskClient::report_again() {
  const std::vector<Task> given = std::exchange(given_, {}), ended = std::exchange(ended_, {});
  if (given.empty() && ended.empty()) return;
  const std::vector<Task> known = owned_of(ask_of(MasterOp::take, {})).tasks;
  std::vector<Task> still;
  for (const Task& task : ended) {
    if (is_among(task, known)) still.push_back(task);
    else if (lost_) lost_(task);
  }
  for (const Task& task : given) {
    if (lost_ && !is_among(task, known) && !is_among(task, ended)) lost_(task);
  }
  if (!still.empty()) finish(still);
}

Frame TaskClient::request_of(MasterOp op, const std::vector<Task>& tasks,
                             const std::string& why) const {
  Frame request;
  request.header.op = static_cast<std::uint8_t>(op);
  put_owned(request, {options_.name, tasks, why});
  return request;
}

Frame TaskClient::ask_of(MasterOp op, const std::vector<Task>& tasks, std::uint32_t max_count,
                         Believes believes) {
  Frame request = request_of(op, tasks);
  request.header.table = max_count;
  return ask(std::move(request), believes);
}

Taken TaskClient::take(std::uint32_t max_count, const std::vector<Task>& held) {
  const std::vector<Task> ended = ended_;
  const Frame answer = ask_of(MasterOp::take, held, max_count, Believes::what_is_written);
  Taken taken{.tasks = owned_of(answer).tasks,
              .all_done = (answer.header.flags & kAllDone) != 0,
              .rollbacks = answer.header.generation};
  // Another leader may have handed out again a task whose end it did not know.
  std::erase_if(taken.tasks, [&](const Task& task) { return is_among(task, ended); });
  if (!taken.tasks.empty()) taken.epoch = taken.tasks.front().epoch;
  if ((answer.header.flags & kStoreUnreachable) != 0) {
    given_.insert(given_.end(), taken.tasks.begin(), taken.tasks.end());
  }
  return taken;
}

int TaskClient::finish(const std::vector<Task>& tasks) {
  const Frame answer = ask_of(MasterOp::finish, tasks);
  if ((answer.header.flags & kStoreUnreachable) != 0) {
    ended_.insert(ended_.end(), tasks.begin(), tasks.end());
  }
  return static_cast<int>(answer.header.count);
}

TaskClient::GivenBack TaskClient::give_back(const std::vector<Task>& tasks, const std::string& why,
                                            bool ends) {
  Frame request = request_of(MasterOp::give_back, tasks, why);
  request.header.flags = ends ? kEnds : 0;
  const Header answer = ask(std::move(request), Believes::all).header;
  return {static_cast<int>(answer.count), (answer.flags & kLearned) != 0};
}

int TaskClient::release(std::optional<Milliseconds> timeout) {
  const Frame answer = ask(request_of(MasterOp::release, {}), Believes::all, timeout);
  return static_cast<int>(answer.header.count);
}

PaceAnswer TaskClient::pace(PaceRequest request) {
  request.name = options_.name;
  Frame frame;
  frame.header.op = static_cast<std::uint8_t>(MasterOp::pace);
  put_pace(frame, request);
  return pace_answer_of(ask(std::move(frame), Believes::what_is_written));
}

}  // namespace trireme::distributed
