#pragma once

// The processes of a job that run on this machine: starts them, reads what they say, and starts
// another one for each that ends badly.

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
  // What to run for a role, under a name that no other process of the job has or had.
  std::function<std::vector<std::string>(const std::string& role, const std::string& name)> command;
  std::map<std::string, std::string> environment = {};  // besides our own
  // And for one process alone.
  std::function<std::map<std::string, std::string>(const std::string& role,
                                                   const std::string& name)>
      own_environment = {};
  // A line of the process of that name; the supervisor's own have the name "launch".
  std::function<void(const std::string& name, const std::string& line)> heard;
  // A process has ended; called before another one takes its place.
  std::function<void(const std::string& role, const std::string& name)> gone = {};
  int restarts = 10;  // of processes that ended badly, in all
  // So many ends more of trainers, for which tasks are to blame that are left out by now. Asked
  // when restarts are used up. If empty, none.
  std::function<int()> pardoned = {};
  // Whether trainers have begun: before that, one that ends badly by itself would do so again. If
  // empty, they have.
  std::function<bool()> begun = {};
  // Whether the job goes on without a trainer that ended badly when restarts are used up; if empty,
  // it does not.
  std::function<bool()> spare = {};
  // Others have the place of a process that ended by kReplacedCode: whether there is another place
  // of its role that nobody has, such as that of one which has died meanwhile, and whose substitute
  // took this one's. Then another one is started. If empty, there is none.
  std::function<bool(const std::string& role)> missing = {};
  // Whether the job is over. A trainer that ends well before that was asked to by somebody else,
  // and another one is started; if empty, it is done.
  std::function<bool()> over = {};
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
  // Waits so long at most for lines, hands them on, and starts others for those that have ended
  // badly. Trainers that end well are done, and so is who was replaced by others (kReplacedCode),
  // if no place is free. Errors: usage or data, for a process that says that the job is wrong; io,
  // when processes end badly too often.
  void look(std::chrono::milliseconds most);
  int running(const std::string& role) const;
  // By name.
  std::map<std::string, pid_t> processes(const std::string& role) const;
  int staying(const std::string& role) const;  // of these, those that are not asked to leave
  int restarts() const { return restarts_; }
  // Asks the newest one of a role that stays to end in good order; or the one of that name. It is
  // not replaced, and killed if it does not end in ten seconds. False: there is none.
  bool leave(const std::string& role, const std::string& name = {});
  // Asks all to end, trainers first, since what they finish needs the others; kills those that do
  // not in five seconds, each time. Gives the names of these.
  std::vector<std::string> end();
  // The first half of it.
  void end_trainers(std::chrono::milliseconds most, std::vector<std::string>& killed);

 private:
  using Clock = std::chrono::steady_clock;
  struct Child {
    std::string role, name;
    std::unique_ptr<Process> process;
    std::optional<Clock::time_point> leaves = {};  // asked to, until then
  };
  using Place = std::list<Child>::iterator;

  void wait(std::chrono::milliseconds most);
  Place look_at(Place child);
  void ended(const Child& gone, int code);
  void end(bool trainers, std::chrono::milliseconds most, std::vector<std::string>& killed);
  void replace(const Child& gone, int code);
  bool used_up(const std::string& role) const;  // restarts

  const SupervisorOptions options_;
  std::map<std::string, int> counts_;  // of all that were started, by role
  std::list<Child> children_;
  int restarts_ = 0;
};

}  // namespace trireme::distributed
