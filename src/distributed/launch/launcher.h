#pragma once

// Runs a job: all its processes on this machine; or, if several launchers were placed on machines,
// the share of this one.

#include <functional>
#include <string>
#include <vector>

#include "distributed/placement/bootstrap.h"

namespace trireme::distributed {

struct LaunchOptions {
  std::string program;  // runs a role when called with "role NAME"
  std::string job;      // the file; or
  // a training program of the user (trireme/distributed.h), with its arguments. In manifests the
  // path in the image.
  bool own_program = false;
  std::vector<std::string> arguments = {};
  std::vector<std::string> set = {};
  std::string output = {};
  int trainers = 2, servers = 0;
  // One leads, the others stand by. 0: two on several machines, else one.
  int masters = 0;
  // The job continues with this number of trainers when restarts are used up; `trainers` is then
  // the most. 0: all wanted trainers must live, and any number may be wanted.
  int min_trainers = 0;
  int threads = 1;                  // of a trainer
  int handlers = 0;                 // as RoleOptions
  int restarts = 10;                // of processes that ended badly, by each launcher
  bool terminal = false;            // one line that is redrawn, instead of one every ten seconds
  std::function<bool()> stop = {};  // called regularly: whether to end
  std::string metrics_host = "127.0.0.1";  // where launcher and processes publish metrics;
  int metrics_port = 0;  // the port of the launcher (0: any); processes take any port

  // Where launchers are, and how they authenticate.
  Placement placement = {};
  std::string interface = {}, bind = {};  // as in own_address(); both empty: loopback
  std::string name = {};                  // of the job; empty: that of its file
  std::string id = {}, credentials = {}, etcd = {},
              etcd_credentials = {};  // as in BootstrapOptions
  int patience = 120;                 // seconds that launchers wait for each other
};

// The job was ordered to end before it was complete.
struct Stopped {
  std::string message;
};

// Returns a line for people about unused keys of the job, or an empty one. Errors: usage for
// invalid options; as Job::check_distributed.
std::string check_launch(const LaunchOptions& options);
// The default name of a job.
std::string job_name(const LaunchOptions& options);
// The number of masters, on `several` machines or one.
int masters_of(const LaunchOptions& options, bool several);

// Returns when all trainers have ended well. Restarts a process that ends otherwise, under another
// name. Throws Stopped. Errors: usage; io when processes end badly too often, or when a needed
// launcher is gone; the error of another launcher that reports a wrong job.
void launch(const LaunchOptions& options);

}  // namespace trireme::distributed
