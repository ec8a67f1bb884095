#include "distributed/launch/launcher.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <list>
#include <random>

#include "base/error.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/launch/process.h"
#include "trireme/job.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLook = 100;                 // ms between two looks at what has ended
constexpr std::chrono::seconds kGrace{5};  // in which processes end that are asked to

std::string random_token() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 8; ++i) token += fmt::format("{:08x}", device());
  return token;
}

// What trainers have told since the last line.
struct Progress {
  double steps = 0, losses = 0;
  long long examples = 0, all_examples = 0;
  Clock::time_point since = Clock::now(), start = since;

  // "progress 12 768 0.31": steps, examples, mean loss.
  bool take(const std::string& line) {
    long long more_steps = 0, more_examples = 0;
    double loss = 0;
    if (std::sscanf(line.c_str(), "progress %lld %lld %lf", &more_steps, &more_examples, &loss) !=
        3) {
      return false;
    }
    steps += static_cast<double>(more_steps);
    losses += loss * static_cast<double>(more_steps);
    examples += more_examples;
    all_examples += more_examples;
    return true;
  }
  std::string line(const std::string& who) {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - since).count();
    const double all = std::chrono::duration<double>(now - start).count();
    const std::string loss = steps > 0 ? fmt::format("{:.4g}", losses / steps) : "-";
    std::string text =
        fmt::format("{:6.1f} s  {} examples, {:.0f}/s  loss {}  {}", all, all_examples,
                    static_cast<double>(examples) / seconds, loss, who);
    steps = losses = 0;
    examples = 0;
    since = now;
    return text;
  }
};

class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options)
      : options_(options), token_(random_token()), store_(make_memory_store()) {
    EtcdServerOptions server;
    server.security.token = token_;
    server_.emplace(*store_, server);
    start("master");
    for (int i = 0; i < options.servers; ++i) start("server");
    for (int i = 0; i < options.trainers; ++i) start("trainer");
  }

  void run() {
    while (!over()) {
      wait();
      for (auto child = children_.begin(); child != children_.end();) {
        child = look_at(child);
      }
      show();
      if (options_.stop && options_.stop()) {
        end();
        fail(ErrorKind::usage, "the job was stopped");
      }
    }
    end();
    if (options_.terminal) std::printf("\r\033[K");
    std::printf("%s\n", progress_.line("done").c_str());
  }

 private:
  struct Child {
    std::string role, name;
    std::unique_ptr<Process> process;
  };
  using Place = std::list<Child>::iterator;

  void start(const std::string& role) {
    const std::string name = role + "_" + std::to_string(counts_[role]++);
    std::vector<std::string> command = {options_.program,
                                        "role",
                                        role,
                                        options_.job,
                                        "--name",
                                        name,
                                        "--store",
                                        "127.0.0.1:" + std::to_string(server_->port()),
                                        "--trainers",
                                        std::to_string(options_.trainers),
                                        "--servers",
                                        std::to_string(options_.servers),
                                        "--threads",
                                        std::to_string(options_.threads)};
    for (const std::string& setting : options_.set) {
      command.insert(command.end(), {"--set", setting});
    }
    if (!options_.output.empty()) command.insert(command.end(), {"--output", options_.output});
    children_.push_back({role, name,
                         std::make_unique<Process>(command, std::map<std::string, std::string>{
                                                                {"TRIREME_JOB_TOKEN", token_}})});
  }

  bool over() const {
    for (const Child& child : children_) {
      if (child.role == "trainer") return false;
    }
    return true;
  }

  void wait() {
    std::vector<pollfd> files;
    for (const Child& child : children_) {
      if (child.process->output() >= 0) files.push_back({child.process->output(), POLLIN, 0});
    }
    ::poll(files.data(), files.size(), kLook);
  }

  void say(const std::string& text) {
    std::printf("%s%s\n", options_.terminal ? "\r\033[K" : "", text.c_str());
    std::fflush(stdout);
  }

  Place look_at(Place child) {
    const std::optional<int> code = child->process->ended();
    for (const std::string& line : child->process->lines()) {
      if (!progress_.take(line)) say("[" + child->name + "] " + line);
    }
    if (!code) return std::next(child);
    const Child gone{child->role, child->name, nullptr};
    const Place next = children_.erase(child);
    if (*code == 0 && gone.role == "trainer") return next;
    restart(gone, *code);
    return next;
  }

  void restart(const Child& gone, int code) {
    const std::string why =
        gone.name + (code > 128 ? " was ended by signal " + std::to_string(code - 128)
                                : " ended with code " + std::to_string(code));
    // What is wrong with the job is wrong again.
    if (code == 2 || code == 3) fail_usage(why + ": see its lines above");
    if (gone.role == "server") fail_io(why + ", and what it held is gone with it");
    if (++restarts_ > options_.restarts) fail_io(why + "; that is once too often");
    say("[launch] " + why + "; another one is started");
    start(gone.role);
  }

  void show() {
    const auto now = Clock::now();
    const auto pause =
        options_.terminal ? std::chrono::milliseconds(500) : std::chrono::seconds(10);
    if (now - progress_.since < pause) return;
    std::map<std::string, int> roles;
    for (const Child& child : children_) ++roles[child.role];
    const std::string text =
        progress_.line(fmt::format("{} trainers, {} servers", roles["trainer"], roles["server"]));
    if (options_.terminal) {
      std::printf("\r\033[K%s", text.c_str());
      std::fflush(stdout);
    } else {
      say(text);
    }
  }

  void end() {
    for (const Child& child : children_) child.process->signal(SIGTERM);
    const auto until = Clock::now() + kGrace;
    while (!children_.empty() && Clock::now() < until) {
      wait();
      std::erase_if(children_, [](Child& child) {
        child.process->lines();
        return child.process->ended().has_value();
      });
    }
    children_.clear();
  }

  const LaunchOptions options_;
  const std::string token_;
  const std::unique_ptr<Store> store_;
  std::optional<EtcdServer> server_;
  std::map<std::string, int> counts_;  // of all that were started, by role
  std::list<Child> children_;
  int restarts_ = 0;
  Progress progress_;
};

// Before anything is started.
void check_job(const LaunchOptions& options) {
  using Mode = Distribution::Mode;
  const Mode mode = Job::read(options.job, {.set = options.set}).distribution().mode;
  if (mode == Mode::synchronous) {
    fail_usage("jobs are launched in the modes all_reduce and asynchronous so far");
  }
  if (mode == Mode::asynchronous && options.servers < 1) {
    fail_usage("mode asynchronous needs parameter servers: --servers 2");
  }
  if (mode == Mode::all_reduce && options.servers > 0) {
    fail_usage(
        "mode all_reduce has no use for parameter servers: leave --servers out, or set "
        "[distributed] mode = \"asynchronous\"");
  }
}

}  // namespace

void launch(const LaunchOptions& options) {
  if (options.trainers < 1 || options.servers < 0 || options.trainers > 256 ||
      options.servers > 256) {
    fail_usage("launch: trainers must be 1 to 256 and servers 0 to 256");
  }
  check_job(options);
  Launcher(options).run();
}

}  // namespace trireme::distributed
