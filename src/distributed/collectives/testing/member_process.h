#pragma once

// A member of an elastic group as a process of its own (member_main.cc), for tests.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trireme::distributed::testing {

// A line that it has written: "step 7 1 3", and when.
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
  // The next line; nothing if it has ended, or none comes within 30 s.
  std::optional<Happening> next();
  // The first of the next lines that begins with `what`.
  std::optional<Happening> next(const std::string& what);
  // Waits for its end, at most 30 s: its exit code, or -1.
  int wait();

 private:
  int output_ = -1;
  pid_t process_ = -1;
  std::string unread_;
};

}  // namespace trireme::distributed::testing
