// A parameter server as a process.

#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "distributed/control/server_keeper.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/store_session.h"
#include "distributed/launch/program_work.h"
#include "distributed/launch/role.h"
#include "distributed/launch/role_metrics.h"
#include "distributed/launch/scratch_folder.h"
#include "distributed/server/parameter_server.h"
#include "trireme/job.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kServerLoopPoll{50};
constexpr std::int64_t kServerLease = 5;  // seconds

class ServerProcess {
 public:
  ServerProcess(const RoleOptions& options, const ServerFolders& folders)
      : options_(options), store_(open_store(options)), registry_(*store_, options.prefix) {
    if (!folders.cold_rows.empty()) cold_rows_.emplace(folders.cold_rows);
    session_.emplace(*store_, kServerLease, [this](const LeaseKeeper& lease) { claim(lease); });
    ParameterServerOptions server{.transport = {.address = listening_address(options),
                                                .security = security_of(options),
                                                .threads = options.handlers}};
    server.shard.place = place_;
    if (cold_rows_) server.shard.folder = cold_rows_->path();
    server.other = [&](Shard& shard) {
      keeper_.emplace(*store_, shard,
                      KeeperOptions{.name = options.name,
                                    .folder = folders.checkpoints,
                                    .prefix = options.prefix + "checkpoint/"});
      return
          [this](const Frame& request, Answer& answer) { return keeper_->handle(request, answer); };
    };
    running_.emplace(server);
    ProcessMonitorOptions watched = monitor_of(options, "server");
    watched.place = place_;
    monitor_.emplace(watched);
    lease_writer_.emplace(monitor_->health());
    watch_server(monitor_->registry(), *running_);
    monitor_->health().add(
        "disk",
        [&shard = running_->shard()] {
          const std::optional<std::string> why = shard.disk_full();
          return Finding{!why, why.value_or("there is room for cold rows")};
        },
        Means::not_ready);
    monitor_->start();
    session_->become([this](const LeaseKeeper& lease) { join(lease); });
  }

  // First no more orders arrive, then the keeper finishes, then its data end.
  ~ServerProcess() {
    if (running_) running_->stop(in(Milliseconds(0)));
    keeper_.reset();
    session_.reset();
  }

  void run() {
    while (!options_.stop || !options_.stop()) {
      std::this_thread::sleep_for(kServerLoopPoll);
      running_->shard().check();
      lease_writer_->tell(session_->lost());
      session_->check();
      check_disk();
    }
    running_->stop(in(Milliseconds(1000)));
  }

 private:
  // Trainers wait and repeat requests: nothing ends, but a user must free space.
  void check_disk() {
    const std::optional<std::string> why = running_->shard().disk_full();
    if (why.has_value() == disk_full_) return;
    disk_full_ = why.has_value();
    std::printf("%s\n", why ? ("trainers have to wait: " + *why).c_str()
                            : "there is room for cold rows again");
    std::fflush(stdout);
  }
  // A failed server has its place until its lease expires. If this process was stopped or
  // disconnected for long, its data are still valid unless another process took its place.
  void claim(const LeaseKeeper& lease) {
    if (place_ < 0) return claim_any(lease);
    if (registry_.claim("server", place_, lease, options_.name)) return;
    throw Replaced("another parameter server has taken this one's place");
  }
  void claim_any(const LeaseKeeper& lease) {
    for (const Deadline end = in(options_.place_timeout);;) {
      const int first = options_.place.value_or(0);
      const int last = options_.place ? first + 1 : options_.servers;
      const std::optional<int> place =
          registry_.claim_place("server", first, last, lease, options_.name);
      if (place) {
        place_ = *place;
        return;
      }
      if (std::chrono::steady_clock::now() > end || (options_.stop && options_.stop())) {
        throw Replaced(options_.place
                           ? "another parameter server has place " + std::to_string(first)
                           : "all places of parameter servers are taken: this one is not needed");
      }
      std::this_thread::sleep_for(kServerLoopPoll);
    }
  }
  void join(const LeaseKeeper& lease) {
    claim(lease);
    ProcessEntry process = monitor_->entry();
    process.address = options_.host + ":" + std::to_string(running_->port());
    process.instance = session_->first_lease();
    registry_.join(process, lease);
  }

  const RoleOptions options_;
  const std::unique_ptr<Store> store_;
  ProcessRegistry registry_;
  int place_ = -1;          // none yet
  bool disk_full_ = false;  // as was said last
  std::optional<ScratchFolder> cold_rows_;
  std::optional<ServerKeeper> keeper_;
  std::optional<ParameterServer> running_;
  std::optional<StoreSession> session_;
  std::optional<ProcessMonitor> monitor_;
  std::optional<LeaseWriter> lease_writer_;
};

}  // namespace

void serve(const RoleOptions& options, const ServerFolders& folders) {
  ServerProcess(options, folders).run();
}

void run_server(const RoleOptions& options) {
  if (options.program) {
    const std::optional<ProgramWork> work =
        await_work(*open_store(options), options.prefix, options.stop);
    if (work) serve(options, {work->checkpoints, work->cold_rows});
    return;
  }
  const Job job = Job::read(options.job, {.set = options.set, .output = options.output});
  const std::string& output = job.output_directory();
  serve(options, {checkpoint_folder(output), cold_rows_folder(job.distribution(), output)});
}

}  // namespace trireme::distributed
