#pragma once

// A member of an elastic group as a separate process (member_main.cc), for tests.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trireme::distributed::testing {

// A line that it printed, "step 7 1 3", and its time.
struct Happening {
  std::string what;
  std::vector<std::int64_t> numbers;
  std::string text;  // the whole line
  std::chrono::steady_clock::time_point at;
};

class MemberProcess {
 public:
  MemberProcess(const std::string& store, const std::string& prefix, const std::string& name,
                const std::vector<std::string>& settings = {});
  ~MemberProcess();  // kills it
  MemberProcess(const MemberProcess&) = delete;
  MemberProcess& operator=(const MemberProcess&) = delete;

  void signal(int number) const;
  // Returns the next line; nothing if the process ended, or if no line arrives within 30 s.
  std::optional<Happening> next();
  // Returns the first of the next lines that begins with `what`.
  std::optional<Happening> next(const std::string& what);
  // Waits at most 30 s for its end and returns its exit code, or -1.
  int wait();

 private:
  int output_ = -1;
  pid_t process_ = -1;
  std::string unread_;
};

}  // namespace trireme::distributed::testing
