#include "launched.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <list>
#include <memory>
#include <optional>

#include "base/error.h"
#include "distributed/coordination/election.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/job/job_commands.h"
#include "distributed/launch/process.h"
#include "exits.h"
#include "folder.h"
#include "hand_outs.h"
#include "havoc.h"
#include "job_processes.h"
#include "judge.h"
#include "program.h"
#include "run_log.h"

namespace trireme::chaos {

using namespace distributed;

namespace {

using Steady = std::chrono::steady_clock;
constexpr double kWatchdog = 60;   // seconds without progress
constexpr double kBeginning = 60;  // seconds until the first task must be handed out
constexpr std::int64_t kRecords = 1600;
constexpr const char* kLaunch = "[launch] ";

double seconds_since(Steady::time_point start) {
  return std::chrono::duration<double>(Steady::now() - start).count();
}

std::string beside(const std::string& program, const std::string& name) {
  return program.substr(0, program.rfind('/') + 1) + name;
}

// By the seed, so that all occur.
struct Variant {
  std::int64_t staleness = 0;
  bool prefetch = false;
};
Variant variant_of(const std::string& mode, std::uint64_t seed) {
  const bool alone = mode == "asynchronous" || mode == "geo";
  return {.staleness = mode == "asynchronous" && seed % 2 == 1 ? 2 : 0,
          .prefetch = alone && seed / 2 % 2 == 1};
}

class LaunchedRun {
 public:
  explicit LaunchedRun(const RunOptions& options)
      : options_(options),
        mode_(options.job.mode),
        name_(fmt::format("chaos-{}-{}-{}", ::getpid(), mode_, options.seed)),
        variant_(variant_of(mode_, options.seed)),
        log_(folder_ / "log", options.verbose, options.label),
        events_(events(options)),
        disk_(folder_ / "disk"),
        clock_(folder_ / "clock"),
        launcher_(command(), environment()),
        havoc_(parts(), [this](const std::string& text) { log_.say(text); }) {}

  // Stopped processes would not end with their launcher.
  ~LaunchedRun() {
    std::vector<pid_t> all;
    for (const char* role : {"master", "server", "trainer"}) {
      for (const auto& [name, process] : processes_of(launcher_.id(), role)) all.push_back(process);
    }
    launcher_.signal(SIGKILL);
    for (const pid_t process : all) ::kill(process, SIGKILL);
  }
  LaunchedRun(const LaunchedRun&) = delete;
  LaunchedRun& operator=(const LaunchedRun&) = delete;

  Outcome run() {
    try {
      under_faults();
      havoc_.end_visits();
      if (!outcome_.hung && code_ == 0) check();
    } catch (const Error& error) {
      outcome_.wrong.emplace_back(error.what());
      log_.say(std::string("error: ") + error.what());
    }
    report();
    return outcome_;
  }

 private:
  std::vector<Event> events(const RunOptions& options) {
    std::vector<std::string> ignored;
    std::vector<Fault> faults = possible_faults(options, ignored);
    kills_chief_ = std::erase(faults, Fault::kill_chief) > 0 && options.seed % 3 == 0;
    return events_of(options.seed, options.seconds, options.pause, faults);
  }
  // As many as one additional trainer would train in that time without faults.
  std::int64_t epochs() const {
    const double batches =
        options_.seconds * (options_.trainers + 1) / std::chrono::duration<double>(kWork).count();
    return static_cast<std::int64_t>(std::ceil(batches * kBatch / kRecords)) + 1;
  }
  std::vector<std::string> command() {
    if (options_.etcd) etcd_.emplace(true, "", Security{});
    const std::string restarts = std::to_string(restarts_for(options_, events_) + 1);  // the chief
    std::vector<std::string> words = {beside(options_.program, "trireme"),
                                      "launch",
                                      "--program",
                                      beside(options_.program, "chaos_program"),
                                      "--name",
                                      name_,
                                      "--trainers",
                                      std::to_string(options_.trainers),
                                      "--servers",
                                      std::to_string(options_.servers),
                                      "--restarts",
                                      restarts};
    if (etcd_) words.insert(words.end(), {"--etcd", etcd_->address()});
    words.insert(words.end(),
                 {"--", mode_, folder_ / "", std::to_string(kRecords), std::to_string(epochs()),
                  std::to_string(variant_.staleness), variant_.prefetch ? "1" : "0"});
    return words;
  }
  std::map<std::string, std::string> environment() const {
    std::map<std::string, std::string> all = clock_.environment();
    all["TRIREME_JOBS"] = folder_ / "jobs";
    return all;
  }

  // --- While it runs

  void under_faults() {
    auto event = events_.begin();
    while (!code_ && !outcome_.hung) {
      poll();
      const double since = begun_ ? seconds_since(*begun_) : 0;
      while (event != events_.end() && event->at <= since) {
        outcome_.faults += havoc_.happen(*event++) ? 1 : 0;
      }
      havoc_.poll();
      if (!calm_.is_open() && event == events_.end() && !havoc_.lasts() &&
          since > options_.seconds) {
        calm_.open(folder_ / "calm");
      }
      outcome_.hung = is_hung();
    }
    if (code_ && !calm_.is_open()) {
      outcome_.wrong.emplace_back("the job was over before its faults were");
    }
  }
  // The lines of the launcher and of commands, and whether it has ended.
  void poll() {
    pollfd lines{launcher_.output(), POLLIN, 0};
    ::poll(&lines, launcher_.output() >= 0 ? 1 : 0, 10);
    code_ = launcher_.ended();
    for (const std::string& line : launcher_.lines()) hear(line);
    std::erase_if(asked_, [this](const std::unique_ptr<Process>& one) {
      const bool ended = one->ended().has_value();
      for (const std::string& line : one->lines()) {
        if (!line.empty()) log_.say("[trireme job] " + line);
      }
      return ended;
    });
    if (!watch_) open();
    if (!begun_ && watch_ && watch_->seen().handed() > 0) begun_ = Steady::now();
  }
  // The store of the job, when its launcher has printed the address.
  void open() {
    try {
      OpenJob job = open_job(folder_ / "jobs", name_);
      prefix_ = job.record.prefix;
      security_.token = job.record.token;
      watch_.emplace(std::move(job.store), prefix_);
    } catch (const Error&) {  // it has only just begun
    }
  }
  bool is_hung() const {
    const bool calm = calm_.is_open() && watch_ && watch_->seen().done() > 0;
    if (!begun_) return seconds_since(started_) > kBeginning;
    // At the end a chief may have to be restarted.
    return seconds_since(watch_->progress()) > kWatchdog * (calm ? 2 : 1);
  }
  void hear(const std::string& line) {
    log_.say(line);
    if (line.starts_with(kLaunch)) exits_.hear(line.substr(std::string(kLaunch).size()));
    if (line.starts_with("error: ")) exits_.hear(line.substr(7));
    if (line.find(" went back to epoch ") != std::string::npos) ++outcome_.rollbacks;
    if (line.find("no checkpoint: ") != std::string::npos) ++outcome_.no_checkpoints;
    if (line.find(" slots moved") != std::string::npos) ++outcome_.moves;
    hear_of_lost(line);
    if (line.find(kChief) != std::string::npos && std::exchange(kills_chief_, false)) {
      kill_chief(line.substr(1, line.find(']') - 1));
    }
  }
  void hear_of_lost(const std::string& line) {
    long long first = 0, last = 0, epoch = 0;
    const std::size_t at = line.find("] batches ");
    if (at == std::string::npos || !watch_) return;
    if (std::sscanf(line.c_str() + at, "] batches %lld to %lld of epoch %lld are handed out again",
                    &first, &last, &epoch) == 3) {
      watch_->lose(epoch, first / kTaskBatches);
      ++outcome_.lost;
    }
  }
  void kill_chief(const std::string& name) {
    const auto trainers = processes_of(launcher_.id(), "trainer");
    const auto chief = trainers.find(name);
    if (chief == trainers.end()) return;
    log_.say("! kill chief: " + name);
    exits_.killed(name);
    ::kill(chief->second, SIGKILL);
    ++outcome_.faults;
  }

  // --- Faults

  Parts parts() {
    Parts parts{
        .processes = [this](const std::string& role) { return processes_of(launcher_.id(), role); },
        .exits = exits_,
        .disk = disk_,
        .clock = clock_};
    parts.silence_store = [this](bool silent) {
      if (!etcd_) launcher_.signal(silent ? SIGSTOP : SIGCONT);  // no process if it has ended
      else if (silent) etcd_->stop();
      else etcd_->go_on();
    };
    parts.scale = [this](Fault what, double amount) { return scale(what, amount); };
    parts.target = [this](std::uint32_t which) -> FindTarget {
      return [this, which] { return target(which); };
    };
    parts.security = [this] { return security_; };
    parts.keys = etcd_ ? &*etcd_ : nullptr;
    return parts;
  }
  std::string scale(Fault what, double amount) {
    const bool servers = what == Fault::scale_servers;
    if (servers) servers_ = servers_ == options_.servers ? options_.servers + 1 : options_.servers;
    else trainers_ = other_number(trainers_, options_.trainers + 1, amount);
    const std::vector<std::string> words = {beside(options_.program, "trireme"),
                                            "job",
                                            "scale",
                                            name_,
                                            servers ? "--servers" : "--trainers",
                                            std::to_string(servers ? servers_ : trainers_)};
    asked_.push_back(std::make_unique<Process>(words, environment()));
    return fmt::format("{} trainers, {} servers", trainers_, servers_);
  }
  // A server or the leading master, by the store.
  std::optional<Target> target(std::uint32_t which) {
    if (!watch_) return std::nullopt;
    Store& store = watch_->store();
    std::vector<Target> all;
    for (const ProcessEntry& entry : ProcessRegistry(store, prefix_).list()) {
      if (entry.role == "master") {
        const auto leader = Election(store, prefix_ + "master").leader();
        if (leader) all.push_back({entry.name, leader->name, entry.metrics});
      } else if (entry.role == "server") {
        all.push_back({entry.name, entry.address, entry.metrics});
      }
    }
    return all.empty() ? std::nullopt : std::optional(all[which % all.size()]);
  }

  // --- At the end

  void check() {
    const Saved saved = saved_counts(folder_ / "model", kRecords);
    const Expected expected{mode_, epochs(), 2 * options_.trainers + 2};
    outcome_.verdict = judge(saved, watch_->seen(), expected);
    for (const std::string& line : described(saved, expected)) log_.say(". " + line);
  }
  void report() {
    const auto wrong = [&](bool is, const std::string& text) {
      if (is) outcome_.wrong.push_back(text);
    };
    wrong(outcome_.hung, "no task was handed out or ended for a minute");
    wrong(code_ && *code_ != 0, fmt::format("the launcher ended with {}", code_.value_or(0)));
    wrong(!outcome_.verdict.kept(mode_) || outcome_.verdict.sum_error != 0, "counts are wrong");
    wrong(!exits_.bad().empty(), "ended on their own: " + exits_.bad());
    wrong(!havoc_.counts().wrong.empty(), "unauthenticated peers: " + havoc_.counts().wrong);
    if (watch_) {
      const HandOuts seen = watch_->seen();
      outcome_.tasks = seen.done();
      outcome_.again = seen.again();
      wrong(watch_->missed(), "the store has forgotten what tasks were handed out");
      wrong(seen.failed() > 0, fmt::format("{} tasks failed", seen.failed()));
    }
    outcome_.how = fmt::format("{}{}{}; ", mode_, variant_.staleness > 0 ? " staleness" : "",
                               variant_.prefetch ? " prefetch" : "");
    outcome_.seconds = log_.seconds();
    outcome_.visits = havoc_.counts().visits;
    outcome_.compared = havoc_.counts().compared;
    outcome_.exits = exits_.count();
    outcome_.exits_text = exits_.unexplained();
    if (outcome_.wrong.empty()) return;
    for (const std::string& text : outcome_.wrong) log_.say("WRONG: " + text);
    outcome_.log = log_.keep(options_.logs, fmt::format("launch-{}-{}", mode_, options_.seed));
  }

  const RunOptions options_;
  const std::string mode_, name_;
  const Variant variant_;
  const Folder folder_;
  bool kills_chief_ = false;
  RunLog log_;
  Exits exits_;
  const std::vector<Event> events_;
  Disk disk_;
  Clock clock_;
  std::optional<Keys> etcd_;
  Process launcher_;
  std::string prefix_;
  Security security_;
  std::optional<HandOutWatch> watch_;
  std::list<std::unique_ptr<Process>> asked_;
  int trainers_ = options_.trainers, servers_ = options_.servers;
  Havoc havoc_;
  const Steady::time_point started_ = Steady::now();
  std::optional<Steady::time_point> begun_;  // a task was handed out
  std::ofstream calm_;                       // once all faults are over
  std::optional<int> code_;                  // of the launcher
  Outcome outcome_;
};

}  // namespace

Outcome run_launched(const RunOptions& options) { return LaunchedRun(options).run(); }

}  // namespace trireme::chaos
