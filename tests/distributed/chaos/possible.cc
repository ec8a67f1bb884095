#include <algorithm>
#include <initializer_list>

#include "clock.h"
#include "disk.h"
#include "folder.h"
#include "run.h"

namespace trireme::chaos {

namespace {

constexpr int kOwnRestarts = 10;  // default of a job

// Whether a separate file system can be mounted.
bool can_mount() {
  const Folder folder;
  return Disk(folder / "disk").mounted();
}

class Choice {
 public:
  Choice(const RunOptions& options, std::vector<std::string>& left_out)
      : options_(options), left_out_(left_out) {}

  void add(bool possible, std::initializer_list<Fault> more, const char* why = "") {
    for (const Fault fault : more) {
      const bool wanted = options_.faults.empty() ||
                          std::count(options_.faults.begin(), options_.faults.end(), fault) > 0;
      if (wanted && possible) faults.push_back(fault);
      if (wanted && !possible && *why != '\0') {
        left_out_.push_back(std::string(name_of(fault)) + ": " + why);
      }
    }
  }
  std::vector<Fault> faults;

 private:
  const RunOptions& options_;
  std::vector<std::string>& left_out_;
};

}  // namespace

std::vector<Fault> possible_faults(const RunOptions& options, std::vector<std::string>& left_out) {
  Choice choice(options, left_out);
  const bool servers = options.servers > 0, proxies = options.host.empty() && !options.launched;
  choice.add(true, {Fault::kill_trainer, Fault::kill_master, Fault::kill_trainers,
                    Fault::stop_trainer, Fault::stop_master, Fault::unauthenticated_peers});
  choice.add(servers, {Fault::kill_server, Fault::stop_server, Fault::flip, Fault::tear,
                       Fault::scale_servers});
  choice.add(options.job.mode != "all_reduce" || options.launched, {Fault::scale_trainers});
  choice.add(proxies, {Fault::slow_link, Fault::narrow_link, Fault::cut_link, Fault::silent_link});
  if (servers) {
    choice.add(can_mount(), {Fault::full_disk},
               "no file system can be mounted here, by root alone");
  }
  choice.add(Clock::has_shim(), {Fault::clock},
             "sanitizers and a changed clock do not go together");
  choice.add(options.etcd, {Fault::etcd_restart});
  choice.add(options.host.empty(), {Fault::stop_store});
  choice.add(!options.other_namespace.empty(), {Fault::partition, Fault::loss, Fault::narrow_wire});
  choice.add(options.launched, {Fault::kill_chief});
  return choice.faults;
}

int restarts_for(const RunOptions& options, const std::vector<Event>& events) {
  int restarts = kOwnRestarts;
  for (const Event& event : events) {
    switch (event.fault) {
      case Fault::kill_trainers: restarts += options.trainers + 1; break;  // with one by scaling
      case Fault::kill_trainer:
      case Fault::kill_server:
      case Fault::kill_master:
      case Fault::kill_chief:
      case Fault::flip:
      case Fault::tear: ++restarts; break;
      default: break;
    }
  }
  return restarts;
}

}  // namespace trireme::chaos
