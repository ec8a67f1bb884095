#include "distributed/launch/launcher.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/job/job_commands.h"
#include "distributed/job/job_status.h"
#include "distributed/launch/launcher_services.h"
#include "distributed/launch/member_environment.h"
#include "distributed/launch/program_command.h"
#include "distributed/launch/program_work.h"
#include "distributed/launch/progress.h"
#include "distributed/launch/roster.h"
#include "distributed/launch/supervisor.h"
#include "trireme/job.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;
using Phase = LauncherState::Phase;

constexpr std::chrono::milliseconds kExitPoll{100};       // between two checks for ended processes
constexpr std::chrono::milliseconds kTalk{500};           // between two messages to other launchers
constexpr std::chrono::seconds kSilence{60};              // after which a store is considered lost
constexpr std::chrono::seconds kLauncherExitTimeout{10};  // time for other launchers to end

BootstrapOptions bootstrap_options_of(const LaunchOptions& options) {
  BootstrapOptions bootstrap;
  bootstrap.placement = options.placement;
  bootstrap.own = own_address(options.interface, options.bind);
  bootstrap.interface_chosen = !options.interface.empty() || !options.bind.empty();
  bootstrap.name = job_name(options);
  bootstrap.id = options.id;
  bootstrap.credentials = options.credentials;
  bootstrap.etcd = options.etcd;
  bootstrap.etcd_credentials = options.etcd_credentials;
  bootstrap.patience = std::chrono::seconds(options.patience);
  bootstrap.stop = options.stop;
  return bootstrap;
}

// Waits until the store answers, and launcher 0 has released its place.
struct FirstIsGone {};

// For processes elsewhere in this file system; empty stays empty.
std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).string();
}

class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options)
      : options_(options),
        rank_(options.placement.rank),
        world_(options.placement.world),
        masters_(masters_of(options, world_ > 1)),
        bootstrap_options_(bootstrap_options_of(options)),
        bootstrap_(bootstrap_options_),
        roster_(bootstrap_.store(), bootstrap_.prefix(), rank_),
        progress_(options.terminal),
        children_(supervision()) {
    services_.emplace(service_options(), bootstrap_.store(), roster_, children_);
  }

  // `word`: a line for people, or empty.
  void run(const std::string& word) {
    try {
      if (rank_ == 0 && !word.empty()) progress_.say("[launch] " + word);
      start();
      if (rank_ == 0) lead();
      else follow();
    } catch (Stopped& stopped) {
      const std::optional<StopReport> report = end(Phase::left, ErrorKind::io, "stopped");
      report_left_out();
      if (rank_ == 0) progress_.finish("stopped");
      if (report && report->last) {
        stopped.message += "\n" + text_of(*report->last, report->go_on);
      }
      throw;
    } catch (const Error& error) {
      end(Phase::failed, error.kind(), error.what());
      report_left_out();
      throw;
    }
    end(Phase::well, ErrorKind::io, "well");
    report_left_out();
    if (rank_ == 0) progress_.finish("done");
  }

 private:
  SupervisorOptions supervision() {
    SupervisorOptions supervision;
    supervision.command = [this](const std::string& role, const std::string& name) {
      return command(role, name);
    };
    if (!bootstrap_.token().empty()) {
      supervision.environment = {{"TRIREME_JOB_TOKEN", bootstrap_.token()}};
    }
    if (options_.own_program) add_program(supervision);
    supervision.heard = [this](const std::string& name, const std::string& line) {
      if (!progress_.take(line)) progress_.say("[" + name + "] " + line);
    };
    supervision.gone = [this](const std::string& role, const std::string& name) {
      try {
        ProcessRegistry members(bootstrap_.store(), bootstrap_.prefix());
        members.forget(role, name);
        // The process that had to test and save; it may not be a member any more.
        if (role == "trainer") members.forget(kChiefRole, name);
      } catch (const Unavailable&) {  // its lease expires
      }
    };
    supervision.missing = [this](const std::string& role) { return is_missing(role); };
    supervision.restarts = options_.restarts;
    supervision.pardoned = [this] { return pardoned(); };
    supervision.spare = [this] {
      return services_->steering().enough(children_.staying("trainer"));
    };
    supervision.over = [this] { return is_done(); };
    supervision.first = rank_;
    supervision.stride = world_;
    // Names of earlier launchers of this rank are not used again.
    if (roster_.earlier() > 0) supervision.suffix = fmt::format("-{}", roster_.earlier());
    return supervision;
  }

  // Ends of trainers that were caused by tasks that are left out now, as long as these are few
  // among the completed ones. If many tasks end badly, the tasks are not the cause.
  int pardoned() {
    try {
      const TaskQueue tasks(bootstrap_.store(), {.prefix = bootstrap_.prefix() + "task/"});
      const TaskCounts counts = tasks.counts();
      const std::int64_t all = counts.todo + counts.pending + counts.done + counts.failed;
      const std::int64_t done = (std::max<std::int64_t>(tasks.epoch(), 1) - 1) * all + counts.done;
      if (counts.left_out > 1 + done / 10) return 0;
      int deaths = 0;
      for (const BadTask& task : tasks.bad()) deaths += task.failed ? task.deaths : 0;
      return deaths;
    } catch (const Error&) {  // the store is unavailable
      return 0;
    }
  }

  // The tasks that were left out, if any.
  void report_left_out() {
    if (rank_ != 0) return;
    try {
      std::istringstream lines(
          text_of_left_out(bad_tasks(bootstrap_.store(), bootstrap_.prefix() + "task/")));
      for (std::string line; std::getline(lines, line);) progress_.say("[launch] " + line);
    } catch (const Error&) {
    }
  }

  // Trainers are the program of the user; their environment replaces the arguments of other roles.
  void add_program(SupervisorOptions& supervision) {
    supervision.own_environment = [this](const std::string& role, const std::string& name) {
      using Variables = std::map<std::string, std::string>;
      return role == "trainer" ? trainer_environment(name) : Variables();
    };
    supervision.begun = [this] {
      try {
        return bootstrap_.store().get(work_key(bootstrap_.prefix())).has_value();
      } catch (const Unavailable&) {
        return true;
      }
    };
  }

  std::map<std::string, std::string> trainer_environment(const std::string& name) const {
    RoleOptions role;
    role.name = name;
    role.prefix = bootstrap_.prefix();
    role.host = bootstrap_options_.own.host;
    role.trainers = services_->steering().wanted().trainers;
    role.servers = services_->steering().places();
    role.job_name = services_->name();
    role.metrics_host = options_.metrics_host;
    role.threads = options_.threads;
    RoleAccess access{.credentials = bootstrap_.credentials(),
                      .etcd_credentials = bootstrap_.etcd_credentials()};
    (bootstrap_.etcd() ? access.etcd : access.store) = bootstrap_.address();
    return member_environment(role, access);
  }

  LauncherServicesOptions service_options() {
    LauncherServicesOptions desk;
    desk.record = {.name = job_name(options_),
                   .job = absolute(options_.job),
                   .store = bootstrap_.address(),
                   .etcd = bootstrap_.etcd(),
                   .prefix = bootstrap_.prefix(),
                   .token = bootstrap_.token(),
                   .credentials = absolute(bootstrap_.credentials()),
                   .etcd_credentials = absolute(bootstrap_.etcd_credentials())};
    desk.scale_controller = {
        .prefix = bootstrap_.prefix(),
        .wanted = {options_.trainers, options_.servers},
        .rank = rank_,
        .world = world_,
        .say = [this](const std::string& text) { progress_.say("[launch] " + text); }};
    if (options_.min_trainers > 0)
      desk.scale_controller.limits = Limits{options_.min_trainers, options_.trainers};
    desk.go_on = options_.own_program
                     ? "the same command, with resume = true in the program's Distribution"
                     : "the same command, with --set distributed.resume=true";
    desk.metrics_host = options_.metrics_host;
    desk.metrics_port = rank_ == 0 ? options_.metrics_port : 0;  // launchers may share a machine
    if (rank_ == 0 && !bootstrap_.etcd()) {
      desk.unauthenticated_peers = [this] { return bootstrap_.unauthenticated_peers(); };
    }
    return desk;
  }

  // Whether a place of a server is free. True in doubt: a surplus server ends again.
  bool is_missing(const std::string& role) {
    try {
      ProcessRegistry members(bootstrap_.store(), bootstrap_.prefix());
      return role == "server" && !members.all_taken(role, services_->steering().wanted().servers);
    } catch (const Unavailable&) {
      return true;
    }
  }

  // Whether all epochs are over in the store. The key "concluded" decides in the end: "done" is
  // removed when trainers return to a checkpoint.
  bool is_done() {
    try {
      Store& store = bootstrap_.store();
      return store.get(bootstrap_.prefix() + "done") ||
             store.get(bootstrap_.prefix() + "concluded");
    } catch (const Unavailable&) {
      return true;  // then no surplus process starts
    }
  }

  std::vector<std::string> command(const std::string& role, const std::string& name) const {
    if (options_.own_program && role == "trainer") {
      std::vector<std::string> words = {std::filesystem::absolute(options_.job).string()};
      words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
      return words;
    }
    std::vector<std::string> words = {options_.program, "role", role, options_.job};
    if (options_.own_program) words.emplace_back("--program");
    const auto add = [&words](const std::string& option, const std::string& value) {
      if (!value.empty()) words.insert(words.end(), {option, value});
    };
    add("--name", name);
    add(bootstrap_.etcd() ? "--etcd" : "--store", bootstrap_.address());
    add("--prefix", bootstrap_.prefix());
    add("--bind", bootstrap_options_.own.host);
    add("--credentials", bootstrap_.credentials());
    add("--etcd-credentials", bootstrap_.etcd_credentials());
    add("--trainers", std::to_string(services_->steering().wanted().trainers));
    add("--servers", std::to_string(services_->steering().places()));
    add("--job-name", services_->name());
    add("--metrics-host", options_.metrics_host);
    add("--threads", std::to_string(options_.threads));
    if (role == "server") add("--handlers", std::to_string(options_.handlers));
    for (const std::string& setting : options_.set) add("--set", setting);
    add("--output", options_.output);
    return words;
  }

  int share_of(int rank, int processes) const {
    return distributed::share_of(rank, world_, processes);
  }

  void start() {
    if (world_ > 1) {
      progress_.say(fmt::format("[launch] launcher {} of {}, placed by {}, on {} ({})", rank_,
                                world_, options_.placement.by, machine_name(),
                                bootstrap_options_.own.host));
    }
    for (int i = 0; i < share_of(rank_, masters_); ++i) children_.start("master");
    for (int i = 0; i < share_of(rank_, options_.servers); ++i) children_.start("server");
    for (int i = 0; i < share_of(rank_, options_.trainers); ++i) children_.start("trainer");
  }

  // The regular work of both kinds of launchers. Returns whether messages to other launchers are
  // due.
  bool poll() {
    children_.poll(kExitPoll);
    services_->poll(progress_.all());
    const bool ends = rank_ == 0 && services_->steering().orders().ends();
    if (ends || (options_.stop && options_.stop())) {
      throw Stopped{rank_ == 0 ? "the job was stopped" : "this launcher was stopped"};
    }
    if (world_ == 1 || Clock::now() - talked_ < kTalk) return false;
    roster_.check();
    talked_ = Clock::now();
    return true;
  }

  void lead() {
    bool others_done = world_ == 1;
    while (children_.running("trainer") > 0 || !others_done) {
      if (poll()) patiently([&] { others_done = check_others(); });
      progress_.show(fmt::format("{} trainers, {} servers",
                                 children_.running("trainer") + other_trainers_,
                                 children_.running("server") + other_servers_));
    }
    if (share_of(0, options_.trainers) == 0 && !any_done_) fail_io("no trainer is left");
  }

  // Calls that use the store, which may be unavailable, as launcher 0 may be.
  template <class Work>
  void patiently(const Work& work) {
    std::string who = bootstrap_.etcd() ? "etcd" : "launcher 0", why;
    try {
      work();
      heard_ = Clock::now();
      return;
    } catch (const FirstIsGone&) {
      who = "launcher 0";
    } catch (const Unavailable& error) {
      why = std::string(": ") + error.what();
    }
    if (Clock::now() - heard_ < kSilence) return;
    fail_io(fmt::format("{} has not been heard of for {} s{}", who, kSilence.count(), why));
  }

  // Whether no other launcher has running trainers.
  bool check_others() {
    const std::vector<Roster::Other> others = roster_.others();
    if (static_cast<int>(others.size()) < world_ - 1 &&
        Clock::now() - started_ > std::chrono::seconds(options_.patience)) {
      fail_io(fmt::format("{} of {} launchers have come within {} s", others.size() + 1, world_,
                          options_.patience));
    }
    Totals totals;
    other_trainers_ = other_servers_ = 0;
    bool done = static_cast<int>(others.size()) == world_ - 1;
    for (const Roster::Other& other : others) {
      const LauncherState& state = other.state;
      if (state.phase == Phase::failed && !given_up_.contains(other.rank)) {
        fail(state.kind, named(other) + ": " + state.reason);
      }
      totals.steps += state.totals.steps;
      totals.losses += state.totals.losses;
      totals.examples += state.totals.examples;
      if (state.phase == Phase::well && share_of(other.rank, options_.trainers) > 0)
        any_done_ = true;
      if (!other.alive) miss(other);
      else if (missed_.erase(other.rank) > 0)
        progress_.say("[launch] " + named(other) + " is back");
      other_trainers_ += other.alive ? state.trainers : 0;
      other_servers_ += other.alive ? state.servers : 0;
      done = done && (state.phase == Phase::well || !other.alive);
    }
    progress_.set_others(totals);
    return done;
  }

  static std::string named(const Roster::Other& other) {
    return fmt::format("launcher {} on {}", other.rank, other.state.machine);
  }

  void miss(const Roster::Other& other) {
    if (!missed_.insert(other.rank).second) return;
    given_up_.insert(other.rank);
    progress_.say("[launch] " + named(other) + " is gone; the job continues without it");
    // All places of servers must be taken: servers here take those of the others.
    const int servers = share_of(other.rank, options_.servers);
    if (servers > 0) {
      progress_.say(fmt::format("[launch] its {} parameter servers are started here", servers));
    }
    for (int i = 0; i < servers; ++i) children_.start("server");
    for (int i = 0; i < share_of(other.rank, masters_); ++i) children_.start("master");
  }

  void follow() {
    bool over = false;
    while (!over) {
      if (poll()) patiently([&] { over = is_over(); });
    }
  }

  bool is_over() {
    tell(children_.running("trainer") == 0 ? Phase::well : Phase::working);
    const bool leader = bootstrap_.store().get(arrival_key(bootstrap_.prefix())).has_value();
    const std::optional<std::string> how = roster_.over();
    if (how == "well") return true;
    if (how == "stopped") throw Stopped{"the job was stopped"};
    if (how) fail_io("the job has ended: " + *how);
    if (!leader) throw FirstIsGone();
    return false;
  }

  void tell(Phase phase, ErrorKind kind = ErrorKind::io, const std::string& reason = "") {
    roster_.tell({.trainers = children_.running("trainer"),
                  .servers = children_.running("server"),
                  .totals = progress_.own(),
                  .phase = phase,
                  .kind = kind,
                  .reason = reason});
  }

  // Notifies other launchers, and ends the processes here.
  std::optional<StopReport> end(Phase phase, ErrorKind kind, const std::string& how) {
    try {
      if (rank_ == 0) roster_.set_over(how);
      else tell(phase, kind, how);
    } catch (const Error&) {  // the others notice it later
    }
    // Trainers of other launchers finish their work with our master and servers.
    return services_->end([this] {
      const auto until = Clock::now() + kLauncherExitTimeout;
      while (rank_ == 0 && world_ > 1 && any_alive() && Clock::now() < until) {
        std::this_thread::sleep_for(kExitPoll);
      }
    });
  }

  bool any_alive() {
    try {
      const std::vector<Roster::Other> others = roster_.others();
      return std::any_of(others.begin(), others.end(),
                         [](const Roster::Other& other) { return other.alive; });
    } catch (const Error&) {
      return false;
    }
  }

  const LaunchOptions options_;
  const int rank_, world_;
  const int masters_;  // of the whole job
  const BootstrapOptions bootstrap_options_;
  const Bootstrap bootstrap_;
  Roster roster_;
  Progress progress_;
  Supervisor children_;
  std::optional<LauncherServices> services_;
  const Clock::time_point started_ = Clock::now();
  Clock::time_point talked_ = {}, heard_ = started_;
  // Of other launchers, for launcher 0.
  int other_trainers_ = 0, other_servers_ = 0;
  bool any_done_ = false;  // one had trainers, and they ended well
  // Launchers that are gone now; and those that were ever gone, which may be back, and without
  // which the job continues.
  std::set<int> missed_, given_up_;
};

}  // namespace

std::string job_name(const LaunchOptions& options) {
  std::string name = options.name;
  if (name.empty()) {
    name = options.own_program ? program_name(options.job, options.arguments)
                               : std::filesystem::path(options.job).stem().string();
  }
  for (char& c : name) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || c == '.';
    if (!kept) c = '-';
  }
  return name.empty() ? "job" : name;
}

namespace {

// The file of the program, on the machine where it runs: here, or in PATH.
std::string program_file(const LaunchOptions& options) {
  for (const std::string& program :
       {std::filesystem::absolute(options.job).string(), options.job}) {
    if (const std::optional<std::string> found = find_program(program)) return *found;
  }
  const bool script = options.job.ends_with(".py");
  fail_usage(options.job + " is no program: a file is expected that can be run, such as " +
             (script ? "--program \"python " + options.job + "\"" : "./mine"));
}

}  // namespace

int masters_of(const LaunchOptions& options, bool several) {
  if (options.masters > 0) return options.masters;
  return several ? 2 : 1;
}

std::string check_launch(const LaunchOptions& options) {
  using Mode = Distribution::Mode;
  if (options.masters < 0 || options.masters > 16) {
    fail_usage("launch: masters must be 1 to 16: one leads, and the others stand by");
  }
  if (options.trainers < 1 || options.servers < 0 || options.trainers > kMaxProcesses ||
      options.servers > kMaxProcesses) {
    fail_usage(
        fmt::format("launch: trainers must be 1 to {0} and servers 0 to {0}, not {1} and {2}",
                    kMaxProcesses, options.trainers, options.servers));
  }
  if (options.min_trainers < 0 || options.min_trainers > options.trainers) {
    fail_usage("launch: --trainers MIN:MAX, with 1 <= MIN <= MAX");
  }
  if (options.own_program) {  // the program decides how it trains
    if (options.set.empty() && options.output.empty()) return {};
    fail_usage("--set and --output are for job files; arguments of a program follow --");
  }
  const Job job = Job::read(options.job, {.set = options.set});
  const std::vector<std::string> unused = job.check_distributed();
  const Mode mode = job.distribution().mode;
  if (mode != Mode::all_reduce && options.servers < 1) {
    fail_usage("with parameters on servers (see [distributed] mode) a job needs some: --servers 2");
  }
  if (mode == Mode::all_reduce && options.servers > 0) {
    fail_usage(
        "mode all_reduce does not use parameter servers: leave --servers out, or set "
        "[distributed] mode = \"asynchronous\"");
  }
  if (unused.empty()) return {};
  return fmt::format("without use for many processes: {}", fmt::join(unused, ", "));
}

void launch(const LaunchOptions& options) {
  const std::string unused = check_launch(options);
  LaunchOptions used = options;
  if (options.own_program) {
    used.name = job_name(options);
    used.job = program_file(options);
  }
  Launcher(used).run(unused);
}

}  // namespace trireme::distributed
