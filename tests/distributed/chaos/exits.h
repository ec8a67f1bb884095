#pragma once

// Which processes of a job ended without being killed, by the messages of the supervisor about bad
// ends.

#include <set>
#include <string>
#include <vector>

namespace trireme::chaos {

class Exits {
 public:
  // This run kills it now.
  void killed(const std::string& name) { killed_.insert(name); }
  // A line of the supervisor, or its final error.
  void hear(const std::string& line);

  // Ends without a kill: "server_3 with code 4, trainer_2 by signal 11"; empty if there are none.
  std::string unexplained() const;
  int count() const { return static_cast<int>(exits_.size()); }
  // Of these, the forbidden ones: with code 2 or 3, which end a job, or by a signal, as a crash.
  std::string bad() const;

 private:
  struct Exit {
    std::string name;
    int code;  // as in Process::ended()
  };
  static bool is_bad(const Exit& exit) {
    return exit.code == 2 || exit.code == 3 || exit.code > 128;
  }
  static std::string text_of(const Exit& exit);

  std::set<std::string> killed_;
  std::vector<Exit> exits_;
};

}  // namespace trireme::chaos
