#include "distributed/job/job_commands.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "distributed/control/job_control.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/job/job_status.h"
#include "distributed/placement/authority.h"
#include "distributed/placement/bootstrap.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Milliseconds kStatusPoll{50};
// Added to the time limit of a job for its end: for the launcher to see the order, and to end
// servers and the master.
constexpr std::chrono::seconds kMore{15};

Security security_of(const JobRecord& record) {
  if (record.etcd) return etcd_security(record.store, record.etcd_credentials);
  if (record.credentials.empty()) return {.token = record.token};
  return read_credentials(record.credentials, seconds_since_1970());
}

void wait_for_end(const OpenJob& job, Milliseconds timeout) try {
  const auto until = Clock::now() + timeout;
  while (lives(job) && Clock::now() < until) std::this_thread::sleep_for(kStatusPoll);
} catch (const Unavailable&) {  // the store has ended with its launcher
}

std::string with_slash(std::string prefix) {
  if (!prefix.ends_with('/')) prefix += '/';
  return prefix;
}

std::string prefix_of(Store& store, const JobAddress& address, const std::string& name) {
  if (!address.prefix.empty()) return with_slash(address.prefix);
  if (!address.store.empty()) return "job/";
  return find_stored_job(store, name, address.id).prefix;
}

[[noreturn]] void fail_unanswered(const OpenJob& job, std::chrono::seconds waited) {
  const JobRecord& record = job.record;
  if (!has_launcher(job)) {
    throw Unavailable(
        fmt::format("no master of {} has answered within {} s", record.name, waited.count()));
  }
  throw Unavailable(
      fmt::format("the launcher of {}, process {} on {}, has not answered within {} s\n  hint   "
                  "kill {} there",
                  record.name, record.pid, record.host, waited.count(), record.pid));
}

const char* state_of(const StoredJob& job) {
  if (job.lives()) return "runs";
  return job.done ? "done" : job.stopped ? "stopped" : "left";
}

Wanted scaled(const Wanted& before, const Scale& scale, const Limits& limits) {
  const Wanted now{scale.trainers.value_or(before.trainers),
                   scale.servers.value_or(before.servers)};
  if (now.trainers < limits.min || now.trainers > limits.max) {
    fail_usage(
        fmt::format("the job may have {} to {} trainers, so not {}\n  hint   trireme launch "
                    "--trainers MIN:MAX says how many it may have",
                    limits.min, limits.max, now.trainers));
  }
  if (before.servers == 0 && now.servers != 0) {
    fail_usage("the job keeps nothing on parameter servers, so it cannot have any");
  }
  if (before.servers != 0 && (now.servers < 1 || now.servers > kMaxProcesses)) {
    fail_usage(
        fmt::format("a job has 1 to {} parameter servers, so not {}", kMaxProcesses, now.servers));
  }
  return now;
}

}  // namespace

OpenJob open_job(const std::string& folder, const std::string& name) {
  OpenJob job{find_job(folder, name), nullptr};
  job.store = connect_etcd({.address = job.record.store,
                            .timeout = Milliseconds(3000),
                            .security = security_of(job.record)});
  return job;
}

OpenJob open_job(const JobAddress& address, const std::string& name) {
  OpenJob job{{}, open_store(address, Milliseconds(3000)), true};
  JobRecord& record = job.record;
  record.prefix = prefix_of(*job.store, address, name);
  if (job.store->commit({.then = {Get{record.prefix, true, "", 1}}}).got.at(0).empty()) {
    fail(ErrorKind::not_found, "no job has keys below " + record.prefix);
  }
  const StoredJob stored = read_stored_job(*job.store, record.prefix);
  record.name = stored.name.empty() ? (name.empty() ? "job" : name) : stored.name;
  record.etcd = !address.etcd.empty();
  record.store = record.etcd ? address.etcd : address.store;
  record.since = stored.since;
  for (const ProcessEntry& process : ProcessRegistry(*job.store, record.prefix).list()) {
    if (process.name != "launcher_0") continue;
    record.host = process.host;
    record.pid = process.pid;
    record.since = process.since;
  }
  return job;
}

bool lives(const OpenJob& job) {
  return job.by_store ? read_stored_job(*job.store, job.record.prefix).lives() : lives(job.record);
}

std::optional<StopReport> stop_job(const OpenJob& job, const StopOrder& order,
                                   Milliseconds farewell) {
  const std::string answer = stopped_key(job.record.prefix), ask = stop_key(job.record.prefix);
  const std::chrono::seconds timeout = order.checkpoint + order.within + kMore;
  const auto until = Clock::now() + timeout;
  Transaction orders{.then = {Put{ask, text_of(order)}}};
  if (order.checkpoint.count() > 0) {  // for the master
    orders.then.push_back(Put{last_wanted_key(job.record.prefix), "1"});
  }
  for (bool asked = false; Clock::now() < until; std::this_thread::sleep_for(kStatusPoll)) {
    try {
      const bool living = lives(job);
      if (!asked && living) asked = job.store->commit(orders).succeeded;
      const std::optional<Entry> entry = asked ? job.store->get(answer) : std::nullopt;
      if (entry) {
        StopReport report = stop_report_of(entry->key, entry->value);
        job.store->erase(ask);  // it has been read
        wait_for_end(job, farewell);
        return report;
      }
      if (!living) return std::nullopt;
    } catch (const Unavailable&) {  // it may be over
      if (!job.by_store && !lives(job.record)) return std::nullopt;
    }
  }
  fail_unanswered(job, timeout);
}

Scaled scale_job(const OpenJob& job, const Scale& scale) {
  for (;;) {
    const std::optional<Entry> wanted = job.store->get(wanted_key(job.record.prefix));
    const std::optional<Entry> limits = job.store->get(limits_key(job.record.prefix));
    if (!wanted || !limits) fail_usage("the job " + job.record.name + " has only just begun");
    const Wanted before = wanted_of(wanted->key, wanted->value);
    const Wanted now = scaled(before, scale, limits_of(limits->key, limits->value));
    Transaction order{.when = {unchanged(*wanted)}, .then = {Put{wanted->key, text_of(now)}}};
    if (now.servers != before.servers) {  // for the master
      order.then.push_back(Put{wanted_servers_key(job.record.prefix), std::to_string(now.servers)});
    }
    if (job.store->commit(order).succeeded) {
      return {before, now};
    }
  }
}

std::string text_of(const std::optional<StopReport>& report) {
  if (!report) return "the job was over before\n";
  std::string text =
      fmt::format("stopped after {:.1f} s: {} processes ended", report->seconds, report->ended);
  if (!report->killed.empty()) {
    text += fmt::format(", {} of which had to be killed:", report->killed.size());
    for (const std::string& name : report->killed) text += " " + name;
  }
  if (const std::optional<TaskState>& tasks = report->tasks; !tasks) {
    text += "; the store did not answer how far it was\n";
  } else if (tasks->epoch == 0) {
    text += "; no epoch had begun\n";
  } else {
    text += fmt::format("\nepoch {} of {}: {} tasks done, {} not, {} failed\n", tasks->epoch,
                        tasks->epochs, tasks->done, tasks->todo + tasks->pending, tasks->failed);
  }
  return report->last ? text + text_of(*report->last, report->go_on) + "\n" : text;
}

std::string text_of(const LastCheckpoint& last, const std::string& go_on) {
  if (last.checkpoint == 0) return "no last checkpoint: " + last.why;
  std::string text = fmt::format("checkpoint {} was written: epoch {} with {} tasks done",
                                 last.checkpoint, last.epoch, last.done);
  if (last.steps > 0) text += fmt::format(", step {}", last.steps);
  return text + "\ngo on by " + go_on;
}

std::string text_of(const JobListing& listing, std::int64_t now) {
  if (listing.running.empty() && listing.dead.empty()) return "no job runs\n";
  std::string text =
      fmt::format("{:<20}{:>8}  {:<20}{:<12}{}\n", "name", "pid", "host", "since", "job");
  const auto add = [&](const JobRecord& r, const std::string& since) {
    text += fmt::format("{:<20}{:>8}  {:<20}{:<12}{}\n", r.name, r.pid, r.host, since, r.job);
  };
  for (const JobRecord& r : listing.running) add(r, age(now - r.since));
  for (const JobRecord& r : listing.dead) add(r, "died");
  return text;
}

std::string text_of(const std::vector<StoredJob>& jobs, std::int64_t now) {
  if (jobs.empty()) return "no job has keys there\n";
  std::string text = fmt::format("{:<20}{:<14}{:<10}{:<10}{:>9}{:>9}{:>9}{:>10}\n", "name", "id",
                                 "state", "since", "trainers", "servers", "masters", "launchers");
  for (const StoredJob& job : jobs) {
    text += fmt::format("{:<20}{:<14}{:<10}{:<10}{:>9}{:>9}{:>9}{:>10}\n", job.name, job.id,
                        state_of(job), job.since == 0 ? "-" : age(now - job.since), job.trainers,
                        job.servers, job.masters, job.launchers);
  }
  return text;
}

std::string text_of_rest(const OpenJob& job, const Scaled& scaled) {
  if (has_launcher(job)) return "";
  const auto& [before, now] = scaled;
  const std::string& name = job.record.name;
  std::string text;
  if (now.trainers != before.trainers) {
    text += fmt::format(
        "no launcher starts or ends trainers here; on Kubernetes:\n  kubectl patch job "
        "{0}-trainers "
        "--type=merge -p '{{\"spec\":{{\"parallelism\":{1},\"completions\":{1}}}}}'\n",
        name, now.trainers);
  }
  if (now.servers == before.servers) return text;
  text += now.servers > before.servers
              ? "the master moves slots to the new servers when they are there; on Kubernetes:\n"
              : "the master moves slots away; when trireme job status says that it has, on "
                "Kubernetes:\n";
  return text +
         fmt::format("  kubectl scale statefulset {}-servers --replicas={}\n", name, now.servers);
}

std::string json_of(const std::vector<StoredJob>& jobs) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const StoredJob& job : jobs) {
    json.push_back({{"name", job.name},
                    {"id", job.id},
                    {"prefix", job.prefix},
                    {"state", state_of(job)},
                    {"since", job.since},
                    {"trainers", job.trainers},
                    {"servers", job.servers},
                    {"masters", job.masters},
                    {"launchers", job.launchers}});
  }
  return json.dump(2) + "\n";
}

std::string json_of(const JobListing& listing) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const JobRecord& r : listing.running) {
    json.push_back({{"name", r.name},
                    {"job", r.job},
                    {"host", r.host},
                    {"pid", r.pid},
                    {"since", r.since},
                    {"store", r.store}});
  }
  return json.dump(2) + "\n";
}

}  // namespace trireme::distributed
