#include "run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "distributed/control/job_control.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/job/job_keys.h"
#include "distributed/launch/scale_controller.h"
#include "distributed/master/protocol.h"
#include "distributed/placement/authority.h"
#include "distributed/server/protocol.h"
#include "folder.h"
#include "havoc.h"
#include "launched.h"
#include "mending.h"
#include "run_log.h"

namespace trireme::chaos {

using namespace distributed;

namespace {

using Steady = std::chrono::steady_clock;
constexpr double kWatchdog = 60;  // seconds without progress
constexpr std::chrono::milliseconds kPoll{10};

double seconds_since(Steady::time_point start) {
  return std::chrono::duration<double>(Steady::now() - start).count();
}

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
        log_(folder_ / "log", options.verbose, options.label),
        events_(events_of(options.seed, options.seconds, options.pause, possible(options))),
        security_(security_of_run(options, folder_ / "credentials")),
        keys_(options.etcd, options.host.empty() ? "127.0.0.1" : options.host, security_),
        leaders_(keys_.store(), std::string(kPrefix) + "master"),
        disk_(folder_ / "disk"),
        clock_(folder_ / "clock"),
        network_(options.other_namespace),
        links_(keys_.address()),
        children_(supervision()),
        scale_controller_(keys_.store(), scale_options(), children_),
        havoc_(parts(), [this](const std::string& text) { log_.say(text); }),
        mending_(havoc_, leaders_, options.job.mode == "all_reduce" ? options.trainers : 0) {
    job_.folder = disk_.checkpoints();
    job_.calm = folder_ / "calm";
    // Enough work for the time of the faults with one additional trainer.
    const bool scales = std::any_of(events_.begin(), events_.end(), [](const Event& event) {
      return event.fault == Fault::scale_trainers;
    });
    job_.epochs = static_cast<std::int64_t>(epochs_per_second(job_) * options.seconds *
                                            (options.trainers + (scales ? 1 : 0))) +
                  1;
  }

  Outcome run() {
    try {
      under_faults();
      if (!outcome_.hung) conclude();
    } catch (const Error& error) {
      exits_.hear(error.what());
      outcome_.wrong.emplace_back(error.what());
      log_.say(std::string("error: ") + error.what());
    }
    report();
    return outcome_;
  }

 private:
  static std::vector<Fault> possible(const RunOptions& options) {
    std::vector<std::string> ignored;
    return possible_faults(options, ignored);
  }

  void under_faults() {
    for (int i = 0; i < options_.masters; ++i) children_.start("master");
    for (int i = 0; i < options_.servers; ++i) children_.start("server");
    for (int i = 0; i < options_.trainers; ++i) children_.start("trainer");
    auto event = events_.begin();
    while (children_.running("trainer") > 0 && !outcome_.hung) {
      children_.poll(kPoll);
      scale_controller_.poll();
      while (event != events_.end() && event->at <= log_.seconds()) {
        outcome_.faults += mending_.happen(*event++) ? 1 : 0;
      }
      havoc_.poll();
      mending_.poll();
      if (!calm_.is_open() && event == events_.end() && !havoc_.lasts() &&
          log_.seconds() > options_.seconds) {
        calm_.open(job_.calm);
      }
      outcome_.hung = seconds_since(progress_) > kWatchdog;
    }
    if (!calm_.is_open() && !outcome_.hung) {
      outcome_.wrong.emplace_back("the job was over before its faults were");
    }
  }

  void conclude() {
    havoc_.end_visits();
    outcome_.verdict = check(keys_.store(), security_, job_, again_);
    for (const char* role : {"master", "server"}) {
      while (children_.leave(role)) {
      }
    }
    while (children_.running("master") + children_.running("server") > 0) children_.poll(kPoll);
  }

  void report() {
    outcome_.waits = mending_.waits();
    for (const auto& [task, times] : again_) outcome_.again += times;
    const Havoc::Counts& havoc = havoc_.counts();
    outcome_.seconds = log_.seconds();
    outcome_.two_masters = havoc.two_masters;
    outcome_.visits = havoc.visits;
    outcome_.compared = havoc.compared;
    outcome_.exits = exits_.count();
    outcome_.exits_text = exits_.unexplained();
    const auto wrong = [&](bool is, const std::string& text) {
      if (is) outcome_.wrong.push_back(text);
    };
    wrong(outcome_.hung, fmt::format("no task was ended for {:.0f} s", kWatchdog));
    wrong(!outcome_.verdict.kept(job_.mode), "counts are wrong");
    wrong(!exits_.bad().empty(), "ended on their own: " + exits_.bad());
    wrong(!havoc.wrong.empty(), "unauthenticated peers: " + havoc.wrong);
    if (outcome_.wrong.empty()) return;
    for (const std::string& text : outcome_.wrong) log_.say("WRONG: " + text);
    outcome_.log = log_.keep(options_.logs, fmt::format("{}-{}", job_.mode, options_.seed));
  }

  // --- Processes

  SupervisorOptions supervision() {
    std::map<std::string, std::string> environment = clock_.environment();
    environment["TRIREME_JOB_TOKEN"] = security_.token;
    return {.command = [this](const std::string& role,
                              const std::string& name) { return command(role, name); },
            .environment = environment,
            .heard = [this](const std::string& name, const std::string& line) { hear(name, line); },
            .gone = [this](const std::string& role, const std::string& name) { gone(role, name); },
            .restarts = restarts_for(options_, events_)};
  }
  ScaleControllerOptions scale_options() const {
    return {.prefix = kPrefix, .wanted = {options_.trainers, options_.servers}};
  }
  // Those with an odd number, if there is such a place.
  bool is_over_there(const std::string& name) const {
    return network_.there() && std::stoi(name.substr(name.find('_') + 1)) % 2 == 1;
  }
  std::vector<std::string> command(const std::string& role, const std::string& name) {
    const bool there = is_over_there(name);
    const Links::Ends ends = links_.open(role, name, there ? options_.other_host : options_.host);
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
        {"--servers", std::to_string(scale_controller_.places())}};
    for (const auto& [option, value] : more) {
      if (!value.empty()) words.insert(words.end(), {option, value});
    }
    if (options_.etcd) words.emplace_back("--open");
    // A separate measurement, which costs etcd some writes.
    if (options_.etcd && !options_.faults.empty()) words.emplace_back("--writes");
    return there ? network_.over_there(words) : words;
  }
  void gone(const std::string& role, const std::string& name) {
    links_.close(name);
    mending_.gone(name);
    try {
      ProcessRegistry(keys_.store(), kPrefix).forget(role, name);
    } catch (const Unavailable&) {  // then its lease expires
    }
  }

  void hear(const std::string& name, const std::string& line) {
    long long tasks = 0, time = 0;
    if (mending_.hear(name, line)) return;
    if (std::sscanf(line.c_str(), "again %lld", &tasks) == 1) {
      ++again_[tasks];
      return;
    }
    if (std::sscanf(line.c_str(), "progress %lld %lld", &tasks, &time) == 2) {
      if (tasks > 0) progress(name, tasks, Steady::time_point(std::chrono::nanoseconds(time)));
      return;
    }
    log_.say("[" + name + "] " + line);
    if (name == "launch") exits_.hear(line);
    if (line.find(" went back to epoch ") != std::string::npos) {
      ++outcome_.rollbacks;
      mending_.went_back();
    }
    if (line.find("no checkpoint: ") != std::string::npos) ++outcome_.no_checkpoints;
    if (line.find(" slots moved") != std::string::npos) ++outcome_.moves;
  }
  void progress(const std::string& name, std::int64_t tasks, Steady::time_point when) {
    outcome_.tasks += tasks;
    if (seconds_since(progress_) > 1) {
      log_.say(fmt::format(". a task is ended, after {:.1f} s without", seconds_since(progress_)));
    }
    progress_ = Steady::now();
    mending_.progress(name, when);
  }

  // --- Faults

  Parts parts() {
    Parts parts{.processes = [this](const std::string& role) { return children_.processes(role); },
                .exits = exits_,
                .disk = disk_,
                .clock = clock_};
    parts.silence_store = [this](bool silent) {
      if (!keys_.real()) links_.silence_store(silent);
      else if (silent) keys_.stop();
      else keys_.go_on();
    };
    parts.scale = [this](Fault what, double amount) { return scale(what, amount); };
    parts.target = [this](std::uint32_t which) { return target(which); };
    parts.security = [this] { return security_; };
    parts.keys = &keys_;
    parts.leaders = &leaders_;
    parts.links = &links_;
    parts.network = &network_;
    return parts;
  }
  // As `trireme job scale`.
  std::string scale(Fault what, double amount) {
    const Wanted before = scale_controller_.wanted();
    Wanted now = before;
    if (what == Fault::scale_servers) {
      now.servers = before.servers == options_.servers ? options_.servers + 1 : options_.servers;
    } else {
      now.trainers = other_number(before.trainers, options_.trainers + 1, amount);
    }
    Transaction order{.then = {Put{wanted_key(kPrefix), text_of(now)}}};
    if (now.servers != before.servers) {
      order.then.emplace_back(Put{wanted_servers_key(kPrefix), std::to_string(now.servers)});
    }
    try {
      keys_.store().commit(order);
    } catch (const Unavailable&) {
      return "";
    }
    return fmt::format("{} trainers, {} servers", now.trainers, now.servers);
  }
  // Among those that this process reaches.
  FindTarget target(std::uint32_t which) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& [name, address] : links_.listening()) {
      if (!is_over_there(name)) all.emplace_back(name, address);
    }
    if (all.empty()) return [] { return std::nullopt; };
    return [this, chosen = all[which % all.size()]]() -> std::optional<Target> {
      for (const ProcessEntry& entry : ProcessRegistry(keys_.store(), kPrefix).list()) {
        if (entry.name != chosen.first) continue;
        return Target{.name = entry.name,
                      .service = entry.role == "master" ? kMasterService : kParameterService,
                      .address = chosen.second,
                      .metrics = entry.metrics};
      }
      return std::nullopt;
    };
  }

  const RunOptions options_;
  const Folder folder_;
  CountJob job_;
  RunLog log_;
  Exits exits_;
  const std::vector<Event> events_;
  const Security security_;
  Keys keys_;
  LeaderWatch leaders_;
  Disk disk_;
  Clock clock_;
  Network network_;
  Links links_;
  Supervisor children_;
  ScaleController scale_controller_;
  Havoc havoc_;
  Mending mending_;
  std::ofstream calm_;  // once all faults are over
  Again again_;
  Steady::time_point progress_ = Steady::now();
  Outcome outcome_;
};

}  // namespace

Outcome run(const RunOptions& options) {
  return options.launched ? run_launched(options) : Run(options).run();
}

}  // namespace trireme::chaos
