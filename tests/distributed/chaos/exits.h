#pragma once

// Which processes of a job have ended though nobody has killed them: by what the job's supervisor
// says of those that end badly.

#include <set>
#include <string>
#include <vector>

namespace trireme::chaos {

class Exits {
 public:
  // This run kills it now.
  void killed(const std::string& name) { killed_.insert(name); }
  // A line of the supervisor's, or the error that it ends with.
  void hear(const std::string& line);

  // Those that no kill explains: "server_3 with code 4, trainer_2 by signal 11"; empty: there are
  // none.
  std::string unexplained() const;
  int count() const { return static_cast<int>(exits_.size()); }
  // Of these, those that no job may see: ended with 2 or 3, which ends a job, or by a signal, as
  // who crashes does.
  std::string bad() const;

 private:
  struct Exit {
    std::string name;
    int code;  // as of Process::ended()
  };
  static bool is_bad(const Exit& exit) {
    return exit.code == 2 || exit.code == 3 || exit.code > 128;
  }
  static std::string text_of(const Exit& exit);

  std::set<std::string> killed_;
  std::vector<Exit> exits_;
};

}  // namespace trireme::chaos
