#pragma once

// The processes of a job that run on this machine: starts them, reads what they say, and starts another one for each
// that ends badly.

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "distributed/launch/process.h"

namespace trireme::distributed {

struct SupervisorOptions {
  // What to run for a role, under a name that no other process of the job has or had.
  std::function<std::vector<std::string>(const std::string& role, const std::string& name)> command;
  std::map<std::string, std::string> environment = {};  // besides our own
  // A line of the process of that name; the supervisor's own have the name "launch".
  std::function<void(const std::string& name, const std::string& line)> heard;
  // A process has ended; called before another one takes its place.
  std::function<void(const std::string& role, const std::string& name)> gone = {};
  int restarts = 10;  // of processes that ended badly, in all
  // Names are "trainer_1", "trainer_4", ...: the role and every `stride`th number from `first` on.
  int first = 0, stride = 1;
  std::string suffix = {};  // of names
};

// One thread calls all functions.
class Supervisor {
 public:
  explicit Supervisor(SupervisorOptions options) : options_(std::move(options)) {}
  // Kills those that run.
  ~Supervisor() = default;

  // Errors: io.
  void start(const std::string& role);
  // Waits so long at most for lines, hands them on, and starts others for those that have ended badly. Trainers that end
  // well are done. Errors: usage or data, for a process that says that the job is wrong; io, when processes end badly too
  // often.
  void look(std::chrono::milliseconds most);
  int running(const std::string& role) const;
  // By name.
  std::map<std::string, pid_t> processes(const std::string& role) const;
  // Asks all to end, and kills after five seconds those that do not.
  void end();

 private:
  struct Child {
    std::string role, name;
    std::unique_ptr<Process> process;
  };
  using Place = std::list<Child>::iterator;

  void wait(std::chrono::milliseconds most);
  Place look_at(Place child);
  void replace(const Child& gone, int code);

  const SupervisorOptions options_;
  std::map<std::string, int> counts_;  // of all that were started, by role
  std::list<Child> children_;
  int restarts_ = 0;
};

}  // namespace trireme::distributed
