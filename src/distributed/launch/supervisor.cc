#include "distributed/launch/supervisor.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>

#include "base/error.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGrace{5};  // in which processes end that are asked to
constexpr std::chrono::milliseconds kPause{50};

}  // namespace

void Supervisor::start(const std::string& role) {
  const int number = options_.first + options_.stride * counts_[role]++;
  const std::string name = role + "_" + std::to_string(number) + options_.suffix;
  children_.push_back(
      {role, name, std::make_unique<Process>(options_.command(role, name), options_.environment)});
}

void Supervisor::wait(std::chrono::milliseconds most) {
  std::vector<pollfd> files;
  for (const Child& child : children_) {
    if (child.process->output() >= 0) files.push_back({child.process->output(), POLLIN, 0});
  }
  ::poll(files.data(), files.size(), static_cast<int>(most.count()));
}

void Supervisor::look(std::chrono::milliseconds most) {
  wait(most);
  for (auto child = children_.begin(); child != children_.end();) child = look_at(child);
}

Supervisor::Place Supervisor::look_at(Place child) {
  const std::optional<int> code = child->process->ended();
  for (const std::string& line : child->process->lines()) options_.heard(child->name, line);
  if (!code) return std::next(child);
  const Child gone{child->role, child->name, nullptr};
  const Place next = children_.erase(child);
  if (options_.gone) options_.gone(gone.role, gone.name);
  if (*code != 0 || gone.role != "trainer") replace(gone, *code);
  return next;
}

void Supervisor::replace(const Child& gone, int code) {
  const std::string why =
      gone.name + (code > 128 ? " was ended by signal " + std::to_string(code - 128)
                              : " ended with code " + std::to_string(code));
  // What is wrong with the job is wrong again.
  if (code == 2 || code == 3) fail_usage(why + ": see its lines above");
  if (++restarts_ > options_.restarts) fail_io(why + "; that is once too often");
  options_.heard("launch", why + "; another one is started");
  start(gone.role);
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

void Supervisor::end() {
  for (const Child& child : children_) child.process->signal(SIGTERM);
  const auto until = Clock::now() + kGrace;
  while (!children_.empty() && Clock::now() < until) {
    wait(kPause);
    std::erase_if(children_, [this](Child& child) {
      const bool ended = child.process->ended().has_value();
      for (const std::string& line : child.process->lines()) options_.heard(child.name, line);
      return ended;
    });
  }
  children_.clear();
}

}  // namespace trireme::distributed
