#pragma once

// A child process whose lines are read, and which does not outlive this one.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "trireme/error.h"

namespace trireme::distributed {

// The exit code of a process of a job after such an error. 2 and 3 mean that the job is wrong:
// another process would end in the same way.
int exit_code(ErrorKind kind);
// Whether a process with this exit code, as of Process::ended(), ended on its own, not by a signal,
// and would do so again.
bool ended_by_itself(int code);

class Process {
 public:
  // Errors: io if it cannot be started.
  Process(const std::vector<std::string>& command,
          const std::map<std::string, std::string>& environment);
  ~Process();  // kills it if it runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  int output() const { return output_; }  // a file descriptor to wait on; -1 at its end
  // The complete lines so far, without waiting. Longer ones arrive in pieces of kLongestLine.
  static constexpr std::size_t kLongestLine = 64 * 1024;
  std::vector<std::string> lines();
  void signal(int number) const;
  // The exit code, or 128 plus the number of the signal that ended it; nothing while it runs.
  std::optional<int> ended();

 private:
  pid_t id_ = -1;
  int output_ = -1;
  std::string rest_;
  std::optional<int> code_;
};

}  // namespace trireme::distributed
