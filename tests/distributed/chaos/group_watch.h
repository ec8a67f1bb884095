#pragma once

// Follows the messages of the members of an all-reduce about their groups: whether all are in one,
// and, after one was killed, the time until all others noticed it and until all were in a group
// again.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trireme::chaos {

class GroupWatch {
 public:
  using Steady = std::chrono::steady_clock;
  explicit GroupWatch(int members) : members_(members) {}

  // Returns whether the line was about groups.
  bool hear(const std::string& name, const std::string& line);
  // All members are in one group by their messages since the last hit.
  bool whole() const;
  // A fault hits the group. Its cost for the others is measured if `killed` is a member of a whole
  // group.
  void hit(const std::optional<std::string>& killed);
  // Ends measurements in progress; they took at least this long.
  void give_up();
  // By measured quantity, in seconds.
  std::map<std::string, std::vector<double>> waits() const { return waits_; }

 private:
  struct Said {
    long long generation;
    int size;
  };
  // Of a living member: seconds after the hit until it noticed, and until it was in a group again.
  struct Survivor {
    std::optional<double> knows, formed;
  };
  void notify_acquainted();

  const int members_;
  std::map<std::string, Said> said_;
  Steady::time_point hit_ = {};
  std::map<std::string, Survivor> survivors_;  // while it is measured
  std::map<std::string, std::vector<double>> waits_;
};

}  // namespace trireme::chaos
