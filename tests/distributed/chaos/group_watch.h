#pragma once

// What members of an all-reduce say of their groups: whether all are in one, and how long it took after one was killed.

#include <chrono>
#include <map>
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
  // One is killed or stopped now. `measured`: how long others take to know, and to go on.
  void hit(bool measured);
  // By what is measured, seconds.
  std::map<std::string, std::vector<double>> waits() const { return waits_; }

 private:
  struct Said {
    long long generation;
    int size;
  };
  const int members_;
  std::map<std::string, Said> said_;
  Steady::time_point hit_ = {};
  bool broken_ = true, formed_ = true;  // was measured
  std::map<std::string, std::vector<double>> waits_;
};

}  // namespace trireme::chaos
