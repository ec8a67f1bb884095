#pragma once

// The processes of a job on this machine: starts them, reads their lines, and restarts those that
// end badly.

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distributed/launch/process.h"

namespace trireme::distributed {

struct SupervisorOptions {
  // The command for a role, under a name that no other process of the job has or had.
  std::function<std::vector<std::string>(const std::string& role, const std::string& name)> command;
  std::map<std::string, std::string> environment = {};  // added to our own
  // Added for one process.
  std::function<std::map<std::string, std::string>(const std::string& role,
                                                   const std::string& name)>
      own_environment = {};
  // Receives the lines of the process of that name; lines of the supervisor have the name "launch".
  std::function<void(const std::string& name, const std::string& line)> heard;
  // Called when a process has ended, before it is replaced.
  std::function<void(const std::string& role, const std::string& name)> gone = {};
  int restarts = 10;  // of processes that ended badly, in total
  // Returns the number of further ends of trainers that were caused by tasks that are left out now.
  // Called when restarts are used up. If empty: 0.
  std::function<int()> pardoned = {};
  // Whether trainers have begun: before that, a trainer that ends badly on its own would do so
  // again. If empty: true.
  std::function<bool()> begun = {};
  // Whether the job continues without a trainer that ended badly when restarts are used up. If
  // empty: false.
  std::function<bool()> spare = {};
  // Other processes have the place of a process that ended with kReplacedCode. Returns whether its
  // role has another free place, such as that of a failed process whose replacement took this
  // place. Then another process is started. If empty: false.
  std::function<bool(const std::string& role)> missing = {};
  // Whether the job is over. A trainer that ends well before that was ended from outside, and
  // another one is started. If empty: true.
  std::function<bool()> over = {};
  // Names are "trainer_1", "trainer_4", ...: the role and every `stride`th number from `first` on.
  int first = 0, stride = 1;
  std::string suffix = {};  // of names
};

// For one thread.
class Supervisor {
 public:
  explicit Supervisor(SupervisorOptions options) : options_(std::move(options)) {}
  // Kills running processes.
  ~Supervisor() = default;

  // Errors: io.
  void start(const std::string& role);
  // Waits at most `timeout` for lines, passes them on, and restarts processes that ended badly.
  // Trainers that end well are done, and so is a process that was replaced (kReplacedCode) if no
  // place is free. Errors: usage or data for a process that reports a wrong job; io when processes
  // end badly too often.
  void poll(std::chrono::milliseconds timeout);
  int running(const std::string& role) const;
  // By name.
  std::map<std::string, pid_t> processes(const std::string& role) const;
  int staying(const std::string& role) const;  // without those that were ordered to leave
  int restarts() const { return restarts_; }
  // Orders the newest process of a role, or the one of that name, to end. It is not replaced, and
  // is killed after ten seconds. Returns false if there is none.
  bool leave(const std::string& role, const std::string& name = {});
  // Orders all to end, trainers first because they need the others to finish; kills after five
  // seconds each. Returns the names of killed ones.
  std::vector<std::string> end();
  // The first half of it.
  void end_trainers(std::chrono::milliseconds timeout, std::vector<std::string>& killed);

 private:
  using Clock = std::chrono::steady_clock;
  struct Child {
    std::string role, name;
    std::unique_ptr<Process> process;
    std::optional<Clock::time_point> leaves = {};  // ordered to leave by this time
  };
  using Place = std::list<Child>::iterator;

  void wait(std::chrono::milliseconds timeout);
  Place check(Place child);
  void ended(const Child& gone, int code);
  void end(bool trainers, std::chrono::milliseconds timeout, std::vector<std::string>& killed);
  void replace(const Child& gone, int code);
  bool used_up(const std::string& role) const;  // whether restarts are used up

  const SupervisorOptions options_;
  std::map<std::string, int> counts_;  // of all started ones, by role
  std::list<Child> children_;
  int restarts_ = 0;
};

}  // namespace trireme::distributed
