// The commands for jobs of several processes: `trireme launch`, `job`, `credentials` and `role`.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "commands.h"
#include "describe/describe.h"
#include "distributed/launch/launcher.h"
#include "distributed/launch/process.h"
#include "distributed/launch/role.h"
#include "trireme/crash.h"
#include "trireme/error.h"

namespace {

constexpr int kStoppedCode = 6;

// The first signal, 0 before.
std::atomic<int> stopped = 0;
void on_stop(int signal) {
  int none = 0;
  stopped.compare_exchange_strong(none, signal);
}

constexpr unsigned kGrace = 5;  // seconds for a process of a job to end after a request
void on_leave(int signal) {
  on_stop(signal);
  ::alarm(kGrace);
}
std::atomic<int> late_code = 4;
static_assert(std::atomic<int>::is_always_lock_free);
void on_late(int) {
  constexpr char kText[] = "the process did not end within 5 s of the request\n";
  [[maybe_unused]] const ssize_t written = ::write(2, kText, sizeof kText - 1);
  ::_exit(late_code);
}

int complain(const std::string& message, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return code;
}

}  // namespace

bool commands::stop_came() { return stopped != 0; }

void commands::leave_in_time() {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, on_leave);
  std::signal(SIGALRM, on_late);
  if (stop_came()) ::alarm(kGrace);
}

void commands::end_late_with(int code) { late_code = code; }

int trireme_distributed_main(int argc, char** argv) {
  trireme::report_crashes("trireme");
  std::signal(SIGTERM, on_stop);
  std::signal(SIGINT, on_stop);
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("Trireme's jobs of several processes.", "trireme");
  app.require_subcommand(1);
  commands::add_launch(app);
  commands::add_role(app);
  commands::add_job(app);
  commands::add_credentials(app);
  if (argc == 2 && std::string(argv[1]) == "describe") {  // for completion and man pages
    std::printf("%s\n", describe(app).dump().c_str());
    return 0;
  }
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    const std::string command = argc > 1 ? std::string(argv[1]) + " " : "";
    return complain(std::string(error.what()) + "\n  hint   trireme " + command + "--help", 2);
  } catch (const trireme::distributed::Stopped& stop) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", stop.message.c_str());
    // Only users send signals to a launcher; clusters send them to roles, where they are routine.
    const bool by_signal = std::string(argv[1]) == "launch" && stopped != 0;
    return by_signal ? 128 + stopped : kStoppedCode;
  } catch (const trireme::distributed::Replaced& replaced) {
    return complain(replaced.what(), trireme::distributed::kReplacedCode);
  } catch (const trireme::Error& error) {
    return complain(error.what(), trireme::distributed::exit_code(error.kind()));
  } catch (const std::exception& error) {
    return complain(std::string(error.what()) + "\n  hint   this is a mistake of Trireme's", 1);
  }
}
