#pragma once

// What members of an all-reduce say of their groups: whether all are in one, and how long it took
// after one was killed until the last of the others knew it, and until the last was in a group
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

  // Whether the line was about groups.
  bool hear(const std::string& name, const std::string& line);
  // All members are in one group, as each has said since the last hit.
  bool whole() const;
  // Something happens to the group. It is measured what it costs the others, if `killed` is a
  // member of a whole group.
  void hit(const std::optional<std::string>& killed);
  // What is not over by now is no shorter than that.
  void give_up();
  // By what is measured, seconds.
  std::map<std::string, std::vector<double>> waits() const { return waits_; }

 private:
  struct Said {
    long long generation;
    int size;
  };
  // Of a member that lives: seconds after the hit when it knew, and when it was in a group again.
  struct Survivor {
    std::optional<double> knows, formed;
  };
  void tell_those_who_know();

  const int members_;
  std::map<std::string, Said> said_;
  Steady::time_point hit_ = {};
  std::map<std::string, Survivor> survivors_;  // while it is measured
  std::map<std::string, std::vector<double>> waits_;
};

}  // namespace trireme::chaos
