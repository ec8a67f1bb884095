#include "run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "distributed/coordination/membership.h"
#include "distributed/placement/authority.h"
#include "group_watch.h"
#include "havoc.h"

namespace trireme::chaos {

using namespace distributed;

namespace {

using Steady = std::chrono::steady_clock;
constexpr double kWatchdog = 60;  // seconds without progress

double seconds_since(Steady::time_point start) {
  return std::chrono::duration<double>(Steady::now() - start).count();
}

// The folder of a run, which goes with it.
class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "trireme-chaos-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) fail_io("no folder for a run of chaos");
    std::filesystem::create_directory(path_ + "/disk");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

Security security_of_run(const RunOptions& options, const std::string& folder) {
  if (options.host.empty()) return {.token = "chaos-" + std::to_string(options.seed)};
  write_credentials(folder, make_credentials(kCredentialDays, seconds_since_1970()));
  return read_credentials(folder, seconds_since_1970());
}

class Run {
 public:
  explicit Run(const RunOptions& options)
      : options_(options),
        job_(options.job),
        security_(security_of_run(options, folder_ / "credentials")),
        keys_(options.etcd, options.host.empty() ? "127.0.0.1" : options.host, security_),
        leaders_(keys_.store(), std::string(kPrefix) + "master"),
        disk_(folder_ / "disk"),
        clock_(folder_ / "clock"),
        network_(options.namespace_),
        links_(keys_.address(), options.host),
        children_(supervision()),
        havoc_({children_, keys_, leaders_, links_, disk_, clock_, network_},
               [this](const std::string& text) {
                 if (options_.verbose) say(text);
               }) {
    if (job_.mode == "all_reduce") group_.emplace(options.trainers);
    job_.folder = disk_.checkpoints();
    job_.calm = folder_ / "calm";
    // Trainers take so long for a task that they end 66 in a second at most, and with steps that all take together 50: the faults
    // are over before the job is.
    job_.epochs =
        static_cast<std::int64_t>((job_.mode == "synchronous" ? 0.5 : 0.66) * options.seconds) + 1;
    std::vector<std::string> ignored;
    events_ =
        events_of(options.seed, options.seconds, options.pause, possible_faults(options, ignored));
  }

  Outcome run() {
    for (int i = 0; i < options_.masters; ++i) children_.start("master");
    for (int i = 0; i < options_.servers; ++i) children_.start("server");
    for (int i = 0; i < options_.trainers; ++i) children_.start("trainer");
    auto event = events_.begin();
    while (children_.running("trainer") > 0 && !outcome_.hung) {
      children_.look(std::chrono::milliseconds(10));
      while (event != events_.end() && event->at <= seconds_since(start_)) happen(*event++);
      havoc_.look();
      if (!calm_.is_open() && event == events_.end() && !havoc_.lasts() &&
          seconds_since(start_) > options_.seconds) {
        calm_.open(job_.calm);
      }
      measure_leader();
      outcome_.hung = seconds_since(progress_) > kWatchdog;
    }
    if (!outcome_.hung) {
      outcome_.verdict = check(keys_.store(), security_, job_, again_);
      children_.end();
    }
    outcome_.well = !outcome_.hung && outcome_.verdict.kept(job_.mode);
    for (const auto& [task, times] : again_) outcome_.again += times;
    outcome_.seconds = seconds_since(start_);
    outcome_.two_masters = havoc_.two_masters();
    if (group_) outcome_.waits.merge(group_->waits());
    return outcome_;
  }

 private:
  SupervisorOptions supervision() {
    std::map<std::string, std::string> environment = clock_.environment();
    environment["TRIREME_JOB_TOKEN"] = security_.token;
    return {.command = [this](const std::string& role,
                              const std::string& name) { return command(role, name); },
            .environment = environment,
            .heard = [this](const std::string& name, const std::string& line) { hear(name, line); },
            .gone = [this](const std::string& role, const std::string& name) { gone(role, name); },
            .restarts = 100000};
  }
  std::vector<std::string> command(const std::string& role, const std::string& name) {
    const Links::Ends ends = links_.open(role, name);
    std::vector<std::string> words = {options_.program, "role", role, "--name", name};
    const std::map<std::string, std::string> more = {
        {"--store", ends.store},
        {"--host", ends.host},
        {"--listens", ends.listens},
        {"--mode", job_.mode},
        {"--folder", job_.folder},
        {"--calm", job_.calm},
        {"--credentials", options_.host.empty() ? "" : folder_ / "credentials"},
        {"--epochs", std::to_string(job_.epochs)},
        {"--servers", std::to_string(options_.servers)}};
    for (const auto& [option, value] : more) {
      if (!value.empty()) words.insert(words.end(), {option, value});
    }
    if (options_.etcd) words.push_back("--open");
    return role == "trainer" && network_.there() ? network_.over_there(words) : words;
  }
  void gone(const std::string& role, const std::string& name) {
    links_.close(name);
    try {
      Membership(keys_.store(), kPrefix).forget(role, name);
    } catch (const Unavailable&) {  // then its lease ends by itself
    }
  }

  void hear(const std::string& name, const std::string& line) {
    long long tasks = 0;
    if (group_ && group_->hear(name, line)) return;
    if (std::sscanf(line.c_str(), "again %lld", &tasks) == 1) {
      ++again_[tasks];
    } else if (std::sscanf(line.c_str(), "progress %lld", &tasks) == 1) {
      if (tasks == 0) return;
      outcome_.tasks += tasks;
      if (options_.verbose && seconds_since(progress_) > 1) {
        say(fmt::format(". a task is ended, after {:.1f} s without", seconds_since(progress_)));
      }
      progress_ = Steady::now();
      mended();
    } else if (options_.verbose) {
      say("[" + name + "] " + line);
    }
    if (line.find(" went back to epoch ") != std::string::npos) {
      ++outcome_.rollbacks;
      needs_rollback_ = false;
    }
    if (line.find("no checkpoint: ") != std::string::npos) ++outcome_.no_checkpoints;
  }
  // A task was ended: if that shows that what has happened last is mended.
  void mended() {
    if (!waiting_ || needs_rollback_ || led_by_ || havoc_.lasts(Fault::etcd_restart)) return;
    // What counts there is from when it could be reached again.
    const bool etcd = *waiting_ == name_of(Fault::etcd_restart);
    outcome_.waits[*waiting_].push_back(seconds_since(etcd ? *havoc_.etcd_back() : since_));
    waiting_.reset();
  }
  void say(const std::string& text) const {
    std::printf("%7.2f %s\n", seconds_since(start_), text.c_str());
    std::fflush(stdout);
  }

  // What it costs is measured if nothing else was the matter when it happened, nor until it was mended.
  void happen(const Event& event) {
    const bool hits_group =
        group_ && (event.fault == Fault::kill_trainer || event.fault == Fault::stop_trainer);
    // What all-reduce has learned lives as long as one of its members does.
    if (hits_group && (havoc_.lasts(Fault::stop_trainer) || !group_->whole())) return;
    const bool alone = !havoc_.lasts() && !waiting_;
    const std::int64_t epoch = leaders_.seen().epoch;
    if (!havoc_.happen(event)) return;
    ++outcome_.faults;
    if (hits_group) group_->hit(event.fault == Fault::kill_trainer && alone);
    waiting_.reset();
    led_by_.reset();
    needs_rollback_ = false;
    if (!alone) return;
    since_ = Steady::now();
    waiting_ = name_of(event.fault);
    needs_rollback_ = event.fault == Fault::kill_server || event.fault == Fault::flip ||
                      event.fault == Fault::tear;
    if (event.fault != Fault::kill_master) return;
    waiting_ = havoc_.killed_leader() ? "kill master that leads" : "kill master that stands by";
    if (havoc_.killed_leader()) led_by_ = epoch;
  }
  void measure_leader() {
    if (!led_by_) return;
    const LeaderWatch::Seen seen = leaders_.seen();
    if (seen.epoch == *led_by_) return;
    outcome_.waits["kill master: another one leads"].push_back(
        std::chrono::duration<double>(seen.since - since_).count());
    led_by_.reset();
  }

  const RunOptions options_;
  const Folder folder_;
  CountJob job_;
  const Security security_;
  Keys keys_;
  LeaderWatch leaders_;
  Disk disk_;
  Clock clock_;
  Network network_;
  Links links_;
  Supervisor children_;
  Havoc havoc_;
  std::vector<Event> events_;
  std::ofstream calm_;                  // once all are over
  std::optional<std::string> waiting_;  // for progress, after this
  bool needs_rollback_ = false;         // before that progress counts
  std::optional<std::int64_t> led_by_;  // the same: another leader than the one of this epoch
  Again again_;
  std::optional<GroupWatch> group_;  // all-reduce
  Steady::time_point since_ = {};
  const Steady::time_point start_ = Steady::now();
  Steady::time_point progress_ = start_;
  Outcome outcome_;
};

// Whether a file system of one's own can be mounted.
bool can_mount() {
  const Folder folder;
  return Disk(folder / "disk").mounted();
}

}  // namespace

std::vector<Fault> possible_faults(const RunOptions& options, std::vector<std::string>& left_out) {
  std::vector<Fault> faults;
  const auto add = [&](bool possible, const char* why, std::initializer_list<Fault> more) {
    for (const Fault fault : more) {
      const bool wanted = options.faults.empty() ||
                          std::count(options.faults.begin(), options.faults.end(), fault) > 0;
      if (wanted && possible) faults.push_back(fault);
      if (wanted && !possible && *why != '\0') {
        left_out.push_back(std::string(name_of(fault)) + ": " + why);
      }
    }
  };
  const bool servers = options.servers > 0;
  add(true, "", {Fault::kill_trainer, Fault::kill_master, Fault::stop_trainer, Fault::stop_master});
  add(servers, "", {Fault::kill_server, Fault::stop_server, Fault::flip, Fault::tear});
  add(options.host.empty(), "",
      {Fault::slow_link, Fault::narrow_link, Fault::cut_link, Fault::silent_link});
  add(!servers || can_mount(), "no file system can be mounted here, by root alone",
      servers ? std::initializer_list<Fault>{Fault::full_disk} : std::initializer_list<Fault>{});
  add(Clock::has_shim(), "sanitizers and a changed clock do not go together", {Fault::clock});
  add(options.etcd, "", {Fault::etcd_restart});
  add(!options.namespace_.empty(), "", {Fault::partition, Fault::loss, Fault::narrow_wire});
  return faults;
}

Outcome run(const RunOptions& options) { return Run(options).run(); }

}  // namespace trireme::chaos
