#include "distributed/launch/role_metrics.h"

#include <ctime>

namespace trireme::distributed {
namespace {

using Samples = std::vector<Registry::Sample>;

constexpr std::chrono::seconds kStep{120};  // after which a trainer without a step is not well

template <class T>
double metric_number(T value) {
  return static_cast<double>(value);
}

std::string without_spaces(std::string text) {
  for (char& c : text) c = c == ' ' ? '_' : c;
  return text;
}

void watch_tables(Registry& registry, Shard& shard) {
  const auto of_tables = [&](const char* name, const char* help,
                             std::uint64_t TableStatistics::* value,
                             MetricKind kind = MetricKind::gauge) {
    registry.collect(kind, name, help, [&shard, value] {
      Samples samples;
      for (const TableReport& table : shard.tables()) {
        samples.push_back({metric_number(table.statistics.*value), {{"table", table.name}}});
      }
      return samples;
    });
  };
  of_tables("trireme_server_rows", "Rows that the server holds, by table.", &TableStatistics::rows);
  of_tables("trireme_server_disk_rows", "Of these, rows on disk.", &TableStatistics::on_disk);
  of_tables("trireme_server_memory_bytes", "Memory of rows and index, by table.",
            &TableStatistics::memory);
  registry.collect(
      MetricKind::gauge, "trireme_server_disk_full",
      "1: rows that do not fit into memory find no room on disk, by table.", [&shard] {
        Samples samples;
        for (const TableReport& table : shard.tables()) {
          samples.push_back({table.statistics.disk_full ? 1.0 : 0.0, {{"table", table.name}}});
        }
        return samples;
      });
  of_tables("trireme_server_evicted_rows_total", "Rows that were not worth their place, by table.",
            &TableStatistics::evicted, MetricKind::counter);
}

void watch_requests(Registry& registry, Shard& shard) {
  registry.collect(MetricKind::counter, "trireme_server_requests_total",
                   "Requests by operation and by the code of the answer.", [&shard] {
                     Samples samples;
                     for (const RequestCount& count : shard.requests()) {
                       samples.push_back({metric_number(count.requests),
                                          {{"operation", name_of(count.op)},
                                           {"code", without_spaces(name_of(count.code))}}});
                     }
                     return samples;
                   });
  const auto of_shard = [&](MetricKind kind, const char* name, const char* help,
                            std::uint64_t ShardStatistics::* value) {
    registry.collect(kind, name, help,
                     [&shard, value] { return metric_number(shard.statistics().*value); });
  };
  using enum MetricKind;
  of_shard(counter, "trireme_server_read_rows_total", "Rows looked up.",
           &ShardStatistics::rows_read);
  of_shard(counter, "trireme_server_pushed_rows_total", "Rows of applied pushes.",
           &ShardStatistics::rows_pushed);
  of_shard(counter, "trireme_server_duplicate_rows_total",
           "Rows of repeated pushes, which were not applied again.", &ShardStatistics::duplicates);
  of_shard(counter, "trireme_server_stale_requests_total",
           "Requests from an earlier generation or epoch.", &ShardStatistics::stale);
  of_shard(counter, "trireme_server_wrong_map_requests_total", "Requests with another slot map.",
           &ShardStatistics::wrong_map);
  of_shard(counter, "trireme_server_steps_total", "Synchronous steps that were applied.",
           &ShardStatistics::steps);
  of_shard(gauge, "trireme_server_dedup_bytes",
           "Bytes of the deduplication tables, of sparse tables and dense parameters.",
           &ShardStatistics::dedup_bytes);
  registry.keep_old_name("trireme_server_dedup_bytes", "trireme_server_marks_bytes");
  of_shard(counter, "trireme_server_forgotten_sources_total",
           "Clients and tasks removed from the deduplication tables before they ended.",
           &ShardStatistics::forgotten);
  of_shard(gauge, "trireme_server_held_bytes",
           "Bytes of gradients that wait for other members of their step.", &ShardStatistics::held);
}

void watch_transport(Registry& registry, const std::function<TransportStatistics()>& read) {
  const auto add = [&](MetricKind kind, const char* name, const char* help,
                       std::uint64_t TransportStatistics::* value) {
    registry.collect(kind, name, help, [read, value] { return metric_number(read().*value); });
  };
  using enum MetricKind;
  add(gauge, "trireme_transport_streams", "Open streams.", &TransportStatistics::open);
  add(counter, "trireme_transport_streams_total", "Opened streams.", &TransportStatistics::streams);
  add(counter, "trireme_transport_requests_total", "Received frames.",
      &TransportStatistics::requests);
  add(counter, "trireme_transport_answers_total", "Sent frames.", &TransportStatistics::answers);
  add(counter, "trireme_transport_received_bytes_total", "Bytes of received frames.",
      &TransportStatistics::bytes_in);
  add(counter, "trireme_transport_sent_bytes_total", "Bytes of sent frames.",
      &TransportStatistics::bytes_out);
  add(counter, "trireme_transport_unauthenticated_peers_total",
      "Refused callers: without the token, or above the limit of connections.",
      &TransportStatistics::unauthenticated_peers);
  registry.keep_old_name("trireme_transport_unauthenticated_peers_total",
                         "trireme_transport_strangers_total");
  add(counter, "trireme_transport_malformed_total",
      "Invalid or too large frames; their streams were closed.", &TransportStatistics::malformed);
  add(counter, "trireme_transport_replayed_total",
      "Requests out of order; their streams were closed.", &TransportStatistics::replayed);
  add(counter, "trireme_transport_corrupt_total", "Frames with a wrong checksum.",
      &TransportStatistics::corrupt);
  add(counter, "trireme_transport_broken_streams_total",
      "Streams closed by the other side without an end.", &TransportStatistics::broken);
  add(counter, "trireme_transport_full_streams_total",
      "Number of times a stream reached its limit of pending requests.",
      &TransportStatistics::full);
}

}  // namespace

TrainerMetrics::TrainerMetrics(Registry& registry, Health& health)
    : registry_(registry), beat_(std::make_shared<Heartbeat>(kStep)) {
  steps_ =
      &registry.counter("trireme_trainer_steps_total", "Steps with a batch from this trainer.");
  examples_ =
      &registry.counter("trireme_trainer_examples_total", "Examples this trainer has trained on.");
  repeated_ = &registry.counter("trireme_trainer_repeated_steps_total",
                                "Repeated steps: with the state of another member, or in "
                                "another generation.");
  waits_ =
      &registry.counter("trireme_trainer_waits_total", "Requests for a batch when none was ready.");
  loss_ = &registry.gauge("trireme_trainer_loss", "Loss of the last batch.");
  seconds_ = &registry.histogram(
      "trireme_trainer_step_seconds",
      "Seconds per step with a batch from this trainer, exchange included.", time_bounds());
  health.add("step", [beat = beat_] { return beat->check("step"); });
}

void TrainerMetrics::step(double loss, std::int64_t examples) {
  seconds_->observe(std::chrono::duration<double>(Clock::now() - began_).count());
  steps_->add();
  examples_->add(static_cast<std::uint64_t>(examples));
  loss_->set(loss);
  beat_->beat();
}

void TrainerMetrics::waited() {
  waits_->add();
  beat_->beat();
}

Counter& TrainerMetrics::unauthenticated_peers() {
  Counter& counter =
      registry_.counter("trireme_group_unauthenticated_peers_total",
                        "Refused connections to a group that forms: from processes that are "
                        "not members.");
  registry_.keep_old_name("trireme_group_unauthenticated_peers_total",
                          "trireme_group_strangers_total");
  return counter;
}

void TrainerMetrics::group(const DataParallel& parallel) {
  unauthenticated_peers();
  repeated_->raise_to(static_cast<std::uint64_t>(parallel.repeated()));
  registry_.gauge("trireme_group_generation", "Number of the group's generation.")
      .set(metric_number(parallel.generation()));
  registry_.gauge("trireme_group_members", "Members of the group.").set(parallel.members());
  registry_
      .counter("trireme_group_breaks_total",
               "Number of times the group formed again because a member died, left or joined.")
      .raise_to(static_cast<std::uint64_t>(parallel.breaks()));
}

void TrainerMetrics::client(const ClientStatistics& statistics) {
  registry_.counter("trireme_client_requests_total", "Requests to parameter servers.")
      .raise_to(statistics.requests);
  registry_
      .counter("trireme_client_repeated_requests_total",
               "Requests to parameter servers that were repeated.")
      .raise_to(statistics.again);
  registry_
      .counter("trireme_client_duplicates_total", "Pushes that the server had already applied.")
      .raise_to(statistics.duplicates);
  registry_.counter("trireme_client_map_reads_total", "Reads of the slot map.")
      .raise_to(statistics.maps);
}

CheckpointMetrics::CheckpointMetrics(Registry& registry) {
  last_ = &registry.gauge("trireme_checkpoint_last", "Number of the last checkpoint; 0: none.");
  seconds_ = &registry.gauge("trireme_checkpoint_last_seconds", "Duration of the last checkpoint.");
  bytes_ = &registry.gauge("trireme_checkpoint_last_bytes", "Size of the last checkpoint.");
  at_ = &registry.gauge("trireme_checkpoint_last_timestamp_seconds",
                        "Unix time at which the last checkpoint was completed.");
  made_ = &registry.counter("trireme_checkpoints_total", "Completed checkpoints.");
  failures_ = &registry.counter("trireme_checkpoint_failures_total", "Checkpoints that failed.");
}

void CheckpointMetrics::done(std::int64_t last, double seconds, std::uint64_t bytes) {
  last_->set(metric_number(last));
  seconds_->set(seconds);
  bytes_->set(metric_number(bytes));
  at_->set(metric_number(std::time(nullptr)));
  made_->add();
}

void CheckpointMetrics::failed() { failures_->add(); }

ExportMetrics::ExportMetrics(Registry& registry) {
  last_ = &registry.gauge("trireme_export_last", "Number of the last export; 0: none.");
  made_ = &registry.counter("trireme_exports_total", "Completed exports for serving.");
  failures_ = &registry.counter("trireme_export_failures_total", "Exports that failed.");
}

void ExportMetrics::done(std::int64_t last) {
  last_->set(metric_number(last));
  made_->add();
}

void watch_server(Registry& registry, ParameterServer& server) {
  watch_tables(registry, server.shard());
  watch_requests(registry, server.shard());
  watch_transport(registry, [&server] { return server.transport(); });
}

void watch_master(Registry& registry, const Master& master) {
  using enum MetricKind;
  registry.collect(gauge, "trireme_master_tasks", "Tasks of the epoch, by state.", [&master] {
    const TaskCounts counts = master.counts().value_or(TaskCounts{});
    return Samples{{metric_number(counts.todo), {{"state", "todo"}}},
                   {metric_number(counts.pending), {{"state", "pending"}}},
                   {metric_number(counts.done), {{"state", "done"}}},
                   {metric_number(counts.failed), {{"state", "failed"}}}};
  });
  const auto of_tasks = [&](MetricKind kind, const char* name, const char* help,
                            std::int64_t TaskCounts::* value) {
    registry.collect(kind, name, help, [&master, value] {
      return metric_number(master.counts().value_or(TaskCounts{}).*value);
    });
  };
  of_tasks(counter, "trireme_master_task_attempts_total",
           "Attempts of tasks that this leader has started, including repeated attempts.",
           &TaskCounts::attempts);
  of_tasks(counter, "trireme_master_refused_completions_total",
           "Completions by trainers that no longer owned the task.", &TaskCounts::refused);
  of_tasks(gauge, "trireme_master_poison_tasks",
           "Tasks of this epoch that failed too often and are left out.", &TaskCounts::failed);
  of_tasks(gauge, "trireme_master_left_out_tasks",
           "Tasks of all epochs that failed too often and are left out.", &TaskCounts::left_out);
  of_tasks(counter, "trireme_master_bad_ends_total",
           "Failed attempts of tasks, as reported to this leader.", &TaskCounts::bad_ends);
  registry.collect(
      gauge, "trireme_master_leader_epoch", "Epoch of its leadership; 0: another master leads.",
      [&master] { return metric_number(master.leadership().value_or(Leadership{}).epoch); });
  registry.collect(gauge, "trireme_master_epoch", "Number of the pass over the data, from 1.",
                   [&master] { return metric_number(master.epoch()); });
  registry.collect(gauge, "trireme_master_trainers", "Trainers that are members of the job.",
                   [&master] { return metric_number(master.leads() ? master.trainers() : 0); });
  watch_transport(registry, [&master] { return master.transport(); });
}

TaskState task_state(const Master& master, std::int64_t epochs, const std::string& name) {
  const TaskCounts counts = master.counts().value_or(TaskCounts{});
  return {master.epoch(), epochs,          counts.todo, counts.pending, counts.done, counts.failed,
          counts.refused, counts.left_out, name};
}

}  // namespace trireme::distributed
