#pragma once

// Runs all processes of a job on this machine.

#include <functional>
#include <string>
#include <vector>

namespace trireme::distributed {

struct LaunchOptions {
  std::string program;  // that does a role when it is called with "role NAME"
  std::string job;      // the file
  std::vector<std::string> set = {};
  std::string output = {};
  int trainers = 2, servers = 0;
  int threads = 1;                  // of a trainer
  int restarts = 10;                // of processes that ended badly, in all
  bool terminal = false;            // one line that moves, instead of one every ten seconds
  std::function<bool()> stop = {};  // asked now and then: whether to end
};

// Returns when all trainers have ended well. A process that ends otherwise is started again, under another name. Errors:
// usage; io, when processes end badly too often, or a parameter server, which takes with it what it held.
void launch(const LaunchOptions& options);

}  // namespace trireme::distributed
