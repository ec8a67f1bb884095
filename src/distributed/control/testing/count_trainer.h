#pragma once

// For tests: a trainer without a Program. Every record adds one to its own row and to some dense
// sums, so that lost and repeated training shows exactly.

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "distributed/control/job_view.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/store_session.h"
#include "distributed/master/task_client.h"
#include "distributed/server/client.h"

namespace trireme::distributed {

struct CountWork {
  std::string prefix, name;
  Security security = {};
  std::int64_t records = 0;
  std::int64_t lease = 60;                                // seconds
  std::function<void(std::int64_t tasks)> finished = {};  // called when tasks ended
  std::function<bool()> stop = {};
  std::function<bool()> die = {};  // called when a task is trained but not ended
  // How long a task stays trained but not ended.
  std::function<Milliseconds()> pause = [] { return Milliseconds(2); };
  // The mode of the declarations. Geo: a task is summed locally and pushed at its end. Synchronous:
  // for reading only.
  Mode mode = Mode::asynchronous;
};

class CountTrainer {
 public:
  static constexpr std::int64_t kTask = 40, kBatch = 20;  // records
  static constexpr std::uint32_t kSums = 5;  // so that some move between servers when others do not

  CountTrainer(Store& store, Network& network, CountWork work)
      : store_(store), network_(network), work_(std::move(work)) {}

  // Declares the counts on all servers.
  static void declare(ParameterClient& client, Mode mode) {
    static const float zeros[2] = {0, 0};
    TableDeclaration table;
    table.options.name = "counts";
    table.options.width = 2;
    table.mode = mode;
    client.declare(0, table);
    std::vector<DenseParameter> sums;
    for (std::uint32_t number = 0; number < kSums; ++number) {
      DenseDeclaration sum{.name = "sum_" + std::to_string(number), .rows = 1, .columns = 2};
      sum.rule = RowRule::sgd();
      sum.mode = mode;
      sums.push_back({number, sum, zeros});
    }
    client.declare(sums);
  }

  static std::vector<std::string> tasks(std::int64_t records) {
    std::vector<std::string> all;
    for (std::int64_t first = 0; first < records; first += kTask) {
      all.push_back(std::to_string(first));
    }
    return all;
  }

  // Runs until all tasks are done.
  void run() {
    if (!join()) return;
    TaskClient tasks(store_, network_,
                     {.prefix = work_.prefix, .name = work_.name, .security = work_.security});
    wait_for_view(0);
    ParameterClient client(network_, client_options());
    bool declared = false;
    for (Taken taken; !taken.all_done && !stopped();) {
      try {
        session_->check();
        if (!declared) declare(client);
        declared = true;
        if (taken.tasks.empty() || taken.rollbacks < view_.rollbacks) taken = tasks.take(2);
        if (taken.rollbacks > view_.rollbacks) throw StaleGeneration("a later task");
        if (taken.rollbacks < view_.rollbacks) taken = {};  // given before the master continued
        for (const Task& task : taken.tasks) count(client, task, taken.epoch);
        if (work_.die && !taken.tasks.empty() && work_.die()) return;
        end(tasks, taken);
        taken.tasks.clear();
      } catch (const StaleGeneration&) {
        wait_for_view(view_.generation);
        declared = false;
      }
    }
  }

  // The counts of each record at the end, and of all.
  struct Counts {
    std::vector<float> rows;
    std::vector<float> all;  // in each of the sums
  };
  Counts counts() {
    for (std::uint32_t generation = 0;; generation = view_.generation) {
      wait_for_view(generation);
      try {
        return read_counts();
      } catch (const StaleGeneration&) {  // a server failed at the end
      }
    }
  }

 private:
  Counts read_counts() {
    ParameterClient client(network_, client_options());
    declare(client);
    std::vector<Id> ids(static_cast<std::size_t>(work_.records));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
    std::vector<float> rows(2 * ids.size());
    client.lookup(0, ids, rows.data(), Create::no);
    Counts counts;
    for (std::size_t i = 0; i < ids.size(); ++i) counts.rows.push_back(rows[2 * i]);
    for (std::uint32_t sum = 0; sum < kSums; ++sum) {
      float sums[2];
      client.pull(sum, sums);
      counts.all.push_back(sums[0]);
    }
    return counts;
  }
  // Returns whether it joined before it had to stop.
  bool join() {
    while (!session_ && !stopped()) {
      try {
        session_.emplace(store_, work_.lease, [this](const LeaseKeeper& lease) {
          ProcessRegistry(store_, work_.prefix)
              .join({.name = work_.name, .role = "trainer"}, lease);
        });
      } catch (const Unavailable&) {
        std::this_thread::sleep_for(Milliseconds(5));
      }
    }
    return session_.has_value();
  }
  bool stopped() const { return work_.stop && work_.stop(); }
  std::optional<JobView> read_view() {
    try {
      return read_job_view(store_, work_.prefix);
    } catch (const Unavailable&) {
      return std::nullopt;
    }
  }
  // Waits for a later generation.
  void wait_for_view(std::uint32_t after) {
    while (!stopped()) {
      const std::optional<JobView> view = read_view();
      if (view && view->generation > after) {
        view_ = *view;
        return;
      }
      std::this_thread::sleep_for(Milliseconds(5));
    }
  }
  ClientOptions client_options() {
    ClientOptions options;
    options.view = [this] {
      std::optional<JobView> newest = read_view();
      if (!newest) return view_.servers;
      if (newest->rollbacks != view_.rollbacks) throw StaleGeneration("back to a checkpoint");
      return newest->servers;
    };
    options.security = work_.security;
    options.sender = static_cast<std::uint32_t>(std::hash<std::string>{}(work_.name));
    options.deadline = Milliseconds(60000);
    options.attempt = Milliseconds(500);
    return options;
  }
  void declare(ParameterClient& client) {
    client.join(view_.generation, 0);
    declare(client, work_.mode);
  }
  void count(ParameterClient& client, const Task& task, std::int64_t epoch) {
    const std::int64_t first = std::stoll(task.data);
    const std::int64_t records = work_.mode == Mode::geo ? kTask : kBatch;
    for (std::int64_t batch = 0; batch < kTask / records; ++batch) {
      std::vector<Id> ids;
      for (std::int64_t i = 0; i < records; ++i) {
        ids.push_back(static_cast<Id>(first + batch * records + i));
      }
      push(client, ids,
           PushId::of_task(static_cast<std::uint32_t>(task.id), static_cast<std::uint32_t>(epoch),
                           static_cast<std::uint32_t>(batch)));
    }
    std::this_thread::sleep_for(work_.pause());
  }
  // Pushes gradients of -1 at a rate of 1, or the increments.
  void push(ParameterClient& client, const std::vector<Id>& ids, const PushId& push) {
    const bool deltas = work_.mode == Mode::geo;
    const float one = deltas ? 1 : -1;
    const std::vector<float> ones(2 * ids.size(), one);
    if (deltas) client.push_deltas(0, ids, ones.data(), push);
    else client.push(0, ids, ones.data(), {.rate = 1}, push);
    const float all[2] = {one * static_cast<float>(ids.size()), 0};
    for (std::uint32_t sum = 0; sum < kSums; ++sum) client.push(sum, all, {.rate = 1}, push);
  }
  void end(TaskClient& tasks, const Taken& taken) {
    if (taken.tasks.empty()) {
      std::this_thread::sleep_for(Milliseconds(5));
      return;
    }
    const int finished = tasks.finish(taken.tasks);
    if (work_.finished) work_.finished(finished);
  }

  Store& store_;
  Network& network_;
  const CountWork work_;
  JobView view_;
  std::optional<StoreSession> session_;
};

}  // namespace trireme::distributed
