#pragma once

// Runs a job: all its processes on this machine, or, if several launchers were placed on machines
// by others, this one's share of them.

#include <functional>
#include <string>
#include <vector>

#include "distributed/placement/meeting.h"

namespace trireme::distributed {

struct LaunchOptions {
  std::string program;  // that does a role when it is called with "role NAME"
  std::string job;      // the file; or
  // a program of the user's, which trains (trireme/distributed.h), and what it is called with. Of
  // manifests its path in the image.
  bool own_program = false;
  std::vector<std::string> arguments = {};
  std::vector<std::string> set = {};
  std::string output = {};
  int trainers = 2, servers = 0;
  // One leads, the others stand by. 0: two where there is more than one machine, else one.
  int masters = 0;
  // Of a range of trainers, with which the job goes on when restarts are used up; `trainers` is
  // then the most. 0: all that are wanted must live, and any number may be wanted.
  int least = 0;
  int threads = 1;                         // of a trainer
  int restarts = 10;                       // of processes that ended badly, by each launcher
  bool terminal = false;                   // one line that moves, instead of one every ten seconds
  std::function<bool()> stop = {};         // asked now and then: whether to end
  std::string metrics_host = "127.0.0.1";  // where the launcher tells how it is; its processes
  int metrics_port = 0;                    // take any port, as this does if it is 0

  // Where launchers are, and by what they trust each other.
  Placement placement = {};
  std::string interface = {}, bind = {};  // as own_address(); both empty: loopback
  std::string name = {};                  // of the job; empty: its file's
  std::string id = {}, credentials = {}, etcd = {}, etcd_credentials = {};  // as MeetingOptions
  int patience = 120;  // seconds that launchers wait for each other
};

// The job was asked to end before it was done.
struct Stopped {
  std::string message;
};

// Gives a line for people if keys of the job have no use, else an empty one. Errors: usage, for
// options that make no job; as Job::check_distributed.
std::string check_launch(const LaunchOptions& options);
// What a job is called that is given no name.
std::string job_name(const LaunchOptions& options);
// As many as it is to have, on `several` machines or one.
int masters_of(const LaunchOptions& options, bool several);

// Returns when all trainers have ended well. A process that ends otherwise is started again, under
// another name. Throws Stopped. Errors: usage; io, when processes end badly too often, or when a
// launcher is gone that others need; when another one says that the job is wrong: its error.
void launch(const LaunchOptions& options);

}  // namespace trireme::distributed
