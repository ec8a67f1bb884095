#include "distributed/job/job_commands.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "distributed/control/job_control.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/job/job_status.h"
#include "distributed/placement/authority.h"
#include "distributed/placement/meeting.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Milliseconds kPause{50};
// Beyond the time that a job has to end: for a launcher to see that it is asked, and to end servers and master.
constexpr std::chrono::seconds kMore{15};

Security security_of(const JobRecord& record) {
  if (record.etcd) return etcd_security(record.store, record.etcd_credentials);
  if (record.credentials.empty()) return {.token = record.token};
  return read_credentials(record.credentials, seconds_since_1970());
}

void wait_for_end(const JobRecord& record, Milliseconds most) {
  const auto until = Clock::now() + most;
  while (lives(record) && Clock::now() < until) std::this_thread::sleep_for(kPause);
}

Wanted scaled(const Wanted& before, const Scale& scale, const Limits& limits) {
  const Wanted now{scale.trainers.value_or(before.trainers),
                   scale.servers.value_or(before.servers)};
  if (now.trainers < limits.least || now.trainers > limits.most) {
    fail_usage(
        fmt::format("the job may have {} to {} trainers, so not {}\n  hint   trireme launch "
                    "--trainers MIN:MAX says how many it may have",
                    limits.least, limits.most, now.trainers));
  }
  if (before.servers == 0 && now.servers != 0) {
    fail_usage("the job keeps nothing on parameter servers, so it cannot have any");
  }
  if (before.servers != 0 && (now.servers < 1 || now.servers > kMostProcesses)) {
    fail_usage(
        fmt::format("a job has 1 to {} parameter servers, so not {}", kMostProcesses, now.servers));
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

std::optional<StopReport> stop_job(const OpenJob& job, const StopOrder& order,
                                   Milliseconds farewell) {
  const std::string answer = stopped_key(job.record.prefix), ask = stop_key(job.record.prefix);
  const std::chrono::seconds most = order.checkpoint + order.within + kMore;
  const auto until = Clock::now() + most;
  Transaction orders{.then = {Put{ask, text_of(order)}}};
  if (order.checkpoint.count() > 0) {  // for the master
    orders.then.push_back(Put{last_wanted_key(job.record.prefix), "1"});
  }
  bool asked = false;
  while (Clock::now() < until && lives(job.record)) {
    try {
      if (!asked) job.store->commit(orders);
      asked = true;
      if (const std::optional<Entry> entry = job.store->get(answer)) {
        StopReport report = stop_report_of(entry->key, entry->value);
        job.store->erase(ask);  // it has been read
        wait_for_end(job.record, farewell);
        return report;
      }
    } catch (const Unavailable&) {  // it may be over
    }
    std::this_thread::sleep_for(kPause);
  }
  if (!lives(job.record)) return std::nullopt;
  throw Unavailable(
      fmt::format("the launcher of {}, process {} on {}, has not answered within {} "
                  "s\n  hint   kill {}",
                  job.record.name, job.record.pid, job.record.host, most.count(), job.record.pid));
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
  const TaskState& tasks = report->tasks;
  if (tasks.epoch == 0) {
    text += "; no epoch had begun\n";
  } else {
    text += fmt::format("\nepoch {} of {}: {} tasks done, {} not, {} failed\n", tasks.epoch,
                        tasks.epochs, tasks.done, tasks.todo + tasks.pending, tasks.failed);
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
