#include "distributed/master/task_client.h"

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "distributed/master/protocol.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kPause{50};     // before the next attempt
constexpr Milliseconds kAnswer{2000};  // in which a master answers
constexpr Milliseconds kLeaving{2000};

}  // namespace

TaskClient::TaskClient(Store& store, Network& network, TaskClientOptions options)
    : network_(network),
      options_(std::move(options)),
      election_(store, options_.prefix + "master") {
  if (!is_owner(options_.name)) {
    fail_usage("\"" + options_.name + "\" is no name of a trainer: no spaces, no '/'");
  }
}

TaskClient::~TaskClient() = default;

// Whether there is a leader to ask. While the store does not answer, the one that was known is asked.
bool TaskClient::connect() {
  try {
    const std::optional<Leader> leader = election_.leader();
    if (!leader) return false;
    if (connection_ == nullptr || connection_->address() != leader->name) {
      connection_ = std::make_unique<Connection>(
          network_,
          ConnectionOptions{.address = leader->name, .security = options_.security, .depth = 1});
    }
  } catch (const Unavailable&) {
  }
  return connection_ != nullptr;
}

Frame TaskClient::ask(Frame request, Milliseconds most) {
  Deadline end = in(most);
  std::string last = "there is no master";
  for (bool leaves = false; std::chrono::steady_clock::now() < end;) {
    if (!leaves && options_.stop && options_.stop()) {
      leaves = true;
      end = std::min(end, in(kLeaving));
    }
    if (connection_ != nullptr || connect()) {
      try {
        Frame answer = connection_->ask(request, std::min(end, in(kAnswer)));
        const Code code = answer.header.code;
        if (code == Code::ok) return answer;
        last = connection_->address() + ": " + name_of(code);
        if (code == Code::refused) fail_usage(last + ": " + answer.payload.text());
        if (code == Code::stale) connection_.reset();
      } catch (const Unavailable& error) {
        last = error.what();
        connection_.reset();
      }
    }
    std::this_thread::sleep_for(kPause);
  }
  throw Unavailable("no master has answered in time: " + last);
}

Taken TaskClient::take(std::uint32_t most, const std::vector<Task>& held) {
  Frame request;
  request.header.op = static_cast<std::uint8_t>(MasterOp::take);
  put_owned(request, {options_.name, held});
  request.header.table = most;
  const Frame answer = ask(std::move(request));
  return {static_cast<std::int64_t>(answer.header.sequence), owned_of(answer).tasks,
          (answer.header.flags & kAllDone) != 0, answer.header.generation};
}

int TaskClient::finish(const std::vector<Task>& tasks) {
  Frame request;
  request.header.op = static_cast<std::uint8_t>(MasterOp::finish);
  put_owned(request, {options_.name, tasks});
  return static_cast<int>(ask(std::move(request)).header.count);
}

TaskClient::GivenBack TaskClient::give_back(const std::vector<Task>& tasks,
                                            const std::string& why, bool ends) {
  Frame request;
  request.header.flags = ends ? kEnds : 0;
  request.header.op = static_cast<std::uint8_t>(MasterOp::give_back);
  put_owned(request, {options_.name, tasks, why});
  const Header answer = ask(std::move(request)).header;
  return {static_cast<int>(answer.count), (answer.flags & kLearned) != 0};
}

int TaskClient::release(std::optional<Milliseconds> most) {
  Frame request;
  request.header.op = static_cast<std::uint8_t>(MasterOp::release);
  put_owned(request, {options_.name, {}});
  return static_cast<int>(ask(std::move(request), most.value_or(options_.patience)).header.count);
}

PaceAnswer TaskClient::pace(PaceRequest request) {
  request.name = options_.name;
  Frame frame;
  frame.header.op = static_cast<std::uint8_t>(MasterOp::pace);
  put_pace(frame, request);
  return pace_answer_of(ask(std::move(frame)));
}

}  // namespace trireme::distributed
