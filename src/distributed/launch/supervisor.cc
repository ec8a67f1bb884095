#include "distributed/launch/supervisor.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>

#include "base/error.h"
#include "distributed/launch/role.h"

namespace trireme::distributed {
namespace {

constexpr std::chrono::seconds kExitTimeout{10};  // in which a process ends that is asked to leave
constexpr std::chrono::seconds kLast{5};          // the same at the end of all
constexpr std::chrono::milliseconds kSupervisorPoll{50};

std::string how_it_ended(const std::string& name, int code) {
  return name + (code > 128 ? " was ended by signal " + std::to_string(code - 128)
                            : " ended with code " + std::to_string(code));
}

}  // namespace

void Supervisor::start(const std::string& role) {
  const int number = options_.first + options_.stride * counts_[role]++;
  const std::string name = role + "_" + std::to_string(number) + options_.suffix;
  std::map<std::string, std::string> environment = options_.environment;
  if (options_.own_environment) environment.merge(options_.own_environment(role, name));
  children_.push_back(
      {role, name, std::make_unique<Process>(options_.command(role, name), environment)});
}

void Supervisor::wait(std::chrono::milliseconds timeout) {
  std::vector<pollfd> files;
  for (const Child& child : children_) {
    if (child.process->output() >= 0) files.push_back({child.process->output(), POLLIN, 0});
  }
  ::poll(files.data(), files.size(), static_cast<int>(timeout.count()));
}

void Supervisor::poll(std::chrono::milliseconds timeout) {
  wait(timeout);
  for (const Child& child : children_) {
    if (child.leaves && Clock::now() > *child.leaves) child.process->signal(SIGKILL);
  }
  for (auto child = children_.begin(); child != children_.end();) child = check(child);
}

Supervisor::Place Supervisor::check(Place child) {
  const std::optional<int> code = child->process->ended();
  for (const std::string& line : child->process->lines()) options_.heard(child->name, line);
  if (!code) return std::next(child);
  const Child gone{child->role, child->name, nullptr, child->leaves};
  const Place next = children_.erase(child);
  if (options_.gone) options_.gone(gone.role, gone.name);
  ended(gone, *code);
  return next;
}

void Supervisor::ended(const Child& gone, int code) {
  if (gone.leaves) {
    const bool late = code == 128 + SIGKILL;
    options_.heard("launch", code == 0 ? gone.name + " has left"
                             : late    ? gone.name + " had to be ended to leave"
                                       : how_it_ended(gone.name, code) + ", asked to leave");
  } else if (code == kReplacedCode) {
    const bool missing = options_.missing && options_.missing(gone.role);
    options_.heard("launch", gone.name + " has left: others have its place" +
                                 (missing ? "; another one is started for one that is free" : ""));
    if (missing) start(gone.role);
  } else if (code != 0 || gone.role != "trainer") {
    replace(gone, code);
  } else if (options_.over && !options_.over()) {
    options_.heard("launch", gone.name + " was ended from outside; another one is started");
    start(gone.role);
  }
}

void Supervisor::replace(const Child& gone, int code) {
  const std::string why = how_it_ended(gone.name, code);
  // A mistake in the job would repeat.
  if (code == 2 || code == 3) {
    fail(code == 2 ? ErrorKind::usage : ErrorKind::data, why + ": see its lines above");
  }
  if (gone.role == "trainer" && ended_by_itself(code) && options_.begun && !options_.begun()) {
    fail_usage(why + " before it trained: see its lines above");
  }
  if (used_up(gone.role)) {
    if (gone.role == "trainer" && options_.spare && options_.spare()) {
      options_.heard("launch", why + "; restarts are used up, the job continues without it");
      return;
    }
    fail_io(why + "; that is once too often" +
            (gone.role == "trainer"
                 ? ": the " + std::to_string(staying("trainer")) + " trainers left are too few"
                 : ""));
  }
  ++restarts_;
  options_.heard("launch", why + "; another one is started");
  start(gone.role);
}

bool Supervisor::used_up(const std::string& role) const {
  if (restarts_ < options_.restarts) return false;
  const bool asks = role == "trainer" && options_.pardoned;
  return !asks || restarts_ >= options_.restarts + options_.pardoned();
}

int Supervisor::running(const std::string& role) const {
  return static_cast<int>(std::count_if(children_.begin(), children_.end(),
                                        [&](const Child& child) { return child.role == role; }));
}

std::map<std::string, pid_t> Supervisor::processes(const std::string& role) const {
  std::map<std::string, pid_t> result;
  for (const Child& child : children_) {
    if (child.role == role) result[child.name] = child.process->id();
  }
  return result;
}

int Supervisor::staying(const std::string& role) const {
  return static_cast<int>(
      std::count_if(children_.begin(), children_.end(),
                    [&](const Child& child) { return child.role == role && !child.leaves; }));
}

bool Supervisor::leave(const std::string& role, const std::string& name) {
  const auto newest = std::find_if(children_.rbegin(), children_.rend(), [&](const Child& child) {
    return child.role == role && !child.leaves && (name.empty() || child.name == name);
  });
  if (newest == children_.rend()) return false;
  newest->leaves = Clock::now() + kExitTimeout;
  newest->process->signal(SIGTERM);
  return true;
}

std::vector<std::string> Supervisor::end() {
  std::vector<std::string> killed;
  end(true, kLast, killed);
  end(false, kLast, killed);
  return killed;
}

void Supervisor::end_trainers(std::chrono::milliseconds timeout, std::vector<std::string>& killed) {
  end(true, timeout, killed);
}

void Supervisor::end(bool trainers, std::chrono::milliseconds timeout,
                     std::vector<std::string>& killed) {
  const auto concerned = [&](const Child& child) { return (child.role == "trainer") == trainers; };
  for (const Child& child : children_) {
    if (concerned(child)) child.process->signal(SIGTERM);
  }
  const auto until = Clock::now() + timeout;
  while (std::any_of(children_.begin(), children_.end(), concerned) && Clock::now() < until) {
    wait(kSupervisorPoll);
    std::erase_if(children_, [this](Child& child) {
      const bool ended = child.process->ended().has_value();
      for (const std::string& line : child.process->lines()) options_.heard(child.name, line);
      return ended;
    });
  }
  std::erase_if(children_, [&](const Child& child) {
    if (concerned(child)) killed.push_back(child.name);
    return concerned(child);
  });
}

}  // namespace trireme::distributed
