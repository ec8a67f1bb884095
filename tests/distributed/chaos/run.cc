#include "run.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/coordination/membership.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/testing/etcd_process.h"
#include "distributed/launch/supervisor.h"

namespace trireme::chaos {

using namespace distributed;

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kWatchdog = 60;  // seconds without progress

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Where the job's keys are.
class Keys {
 public:
  Keys(bool real, const std::string& token) {
    if (real) {
      etcd_.emplace();
      store_ = connect_etcd({.address = etcd_->address()});
      address_ = etcd_->address();
      return;
    }
    store_ = make_memory_store();
    EtcdServerOptions options;
    options.security.token = token;
    server_.emplace(*store_, options);
    address_ = "127.0.0.1:" + std::to_string(server_->port());
  }
  Store& store() { return *store_; }
  const std::string& address() const { return address_; }
  void kill() {
    if (etcd_) etcd_->kill();
  }
  void restart() {
    if (etcd_) etcd_->restart();
  }

 private:
  std::optional<testing::EtcdProcess> etcd_;
  std::unique_ptr<Store> store_;
  std::optional<EtcdServer> server_;
  std::string address_;
};

// Changes a byte in the middle of a part of the newest checkpoint that was committed.
void damage_newest(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<fs::path> parts;
  std::error_code ignored;
  for (const auto& checkpoint : fs::directory_iterator(folder, ignored)) {
    if (!fs::exists(checkpoint.path() / "committed")) continue;
    std::vector<fs::path> here;
    for (const auto& file : fs::directory_iterator(checkpoint.path(), ignored)) {
      if (file.path().extension() == ".part") here.push_back(file.path());
    }
    std::sort(here.begin(), here.end());
    if (!here.empty() && (parts.empty() || here[0] > parts[0])) parts = here;
  }
  if (parts.empty()) return;
  std::fstream file(parts[0], std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(fs::file_size(parts[0], ignored) / 2);
  file.seekg(middle);
  const int byte = file.get();
  file.seekp(middle);
  file.put(static_cast<char>(byte ^ 0x10));
}

class Run {
 public:
  explicit Run(const RunOptions& options)
      : options_(options),
        token_("chaos-" + std::to_string(options.seed)),
        keys_(options.etcd, token_),
        folder_((std::filesystem::temp_directory_path() / "trireme-chaos-XXXXXX").string()),
        events_(events_of(options.seed, options.seconds, options.pause, options.etcd)) {
    if (::mkdtemp(folder_.data()) == nullptr) fail_io("no folder for a run of chaos");
    job_.folder = folder_ + "/checkpoints";
    job_.epochs = static_cast<std::int64_t>(options.seconds) + 1;
    children_.emplace(SupervisorOptions{
        .command = [this](const std::string& role,
                          const std::string& name) { return command(role, name); },
        .environment = {{"TRIREME_JOB_TOKEN", token_}},
        .heard = [this](const std::string& name, const std::string& line) { hear(name, line); },
        .gone =
            [this](const std::string& role, const std::string& name) {
              try {
                Membership(keys_.store(), kPrefix).forget(role, name);
              } catch (const Unavailable&) {  // then its lease ends by itself
              }
            },
        .restarts = 100000});
  }
  ~Run() {
    children_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  Outcome run() {
    for (const char* role : {"master", "server", "trainer"}) {
      const int count = std::string(role) == "master"   ? 1
                        : std::string(role) == "server" ? options_.servers
                                                        : options_.trainers;
      for (int i = 0; i < count; ++i) children_->start(role);
    }
    auto event = events_.begin();
    while (children_->running("trainer") > 0 && !outcome_.hung) {
      children_->look(std::chrono::milliseconds(20));
      while (event != events_.end() && event->at <= seconds_since(start_)) happen(*event++);
      wake();
      outcome_.hung = seconds_since(progress_) > kWatchdog;
    }
    if (!outcome_.hung) {
      outcome_.verdict = check(keys_.store(), {.token = token_}, job_);
      children_->end();
    }
    outcome_.seconds = seconds_since(start_);
    return outcome_;
  }

 private:
  std::vector<std::string> command(const std::string& role, const std::string& name) const {
    std::vector<std::string> words = {options_.program, "role", role, "--name", name};
    const std::map<std::string, std::string> more = {
        {"--store", keys_.address()},
        {"--folder", job_.folder},
        {"--epochs", std::to_string(job_.epochs)},
        {"--servers", std::to_string(options_.servers)}};
    for (const auto& [option, value] : more) words.insert(words.end(), {option, value});
    if (options_.etcd) words.push_back("--open");
    return words;
  }

  void hear(const std::string& name, const std::string& line) {
    long long tasks = 0;
    if (std::sscanf(line.c_str(), "progress %lld", &tasks) == 1 && tasks > 0) {
      outcome_.tasks += tasks;
      progress_ = Clock::now();
      if (waiting_) outcome_.waits[name_of(*waiting_)].push_back(seconds_since(since_));
      waiting_.reset();
    } else if (options_.verbose) {
      say("[" + name + "] " + line);
    }
    if (line.find("servers went back to") != std::string::npos) ++outcome_.rollbacks;
  }
  void say(const std::string& text) const {
    std::printf("%7.2f %s\n", seconds_since(start_), text.c_str());
    std::fflush(stdout);
  }

  // One of the processes of a role, if there is any.
  std::optional<pid_t> process(const std::string& role, std::uint32_t which) const {
    const std::map<std::string, pid_t> all = children_->processes(role);
    if (all.empty()) return std::nullopt;
    return std::next(all.begin(), which % all.size())->second;
  }
  void kill(const char* role, const Event& event) {
    if (const auto process = this->process(role, event.which)) ::kill(*process, SIGKILL);
  }
  void stop(const char* role, const Event& event) {
    const auto process = this->process(role, event.which);
    if (!process) return;
    ::kill(*process, SIGSTOP);
    stopped_.push_back({*process, seconds_since(start_) + event.lasts});
  }

  void happen(const Event& event) {
    if (options_.verbose) say(std::string("! ") + name_of(event.fault));
    waiting_ = event.fault;
    since_ = Clock::now();
    switch (event.fault) {
      case Fault::kill_trainer: return kill("trainer", event);
      case Fault::kill_server: return kill("server", event);
      case Fault::kill_master: return kill("master", event);
      case Fault::stop_trainer: return stop("trainer", event);
      case Fault::stop_server: return stop("server", event);
      case Fault::stop_master: return stop("master", event);
      case Fault::damage: damage_newest(job_.folder); return kill("server", event);
      case Fault::etcd_restart:
        keys_.kill();
        etcd_back_ = seconds_since(start_) + event.lasts / 2;
        return;
    }
  }
  // What was stopped goes on when its time has come.
  void wake() {
    const double now = seconds_since(start_);
    std::erase_if(stopped_, [&](const Stopped& each) {
      if (each.until > now) return false;
      ::kill(each.process, SIGCONT);  // nothing happens if it is gone
      return true;
    });
    if (etcd_back_ && *etcd_back_ <= now) {
      keys_.restart();
      etcd_back_.reset();
    }
  }

  struct Stopped {
    pid_t process;
    double until;
  };
  const RunOptions options_;
  const std::string token_;
  Keys keys_;
  std::string folder_;
  CountJob job_;
  const std::vector<Event> events_;
  std::optional<Supervisor> children_;
  std::vector<Stopped> stopped_;
  std::optional<double> etcd_back_;
  std::optional<Fault> waiting_;  // for progress, after this
  Clock::time_point since_ = {};
  const Clock::time_point start_ = Clock::now();
  Clock::time_point progress_ = start_;
  Outcome outcome_;
};

}  // namespace

Outcome run(const RunOptions& options) { return Run(options).run(); }

}  // namespace trireme::chaos
