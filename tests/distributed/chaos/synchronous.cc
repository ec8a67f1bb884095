#include <cstdio>
#include <optional>
#include <thread>

#include "distributed/control/count_trainer_test.h"
#include "tasks.h"
#include "together.h"

namespace trireme::chaos {

using namespace distributed;

namespace {

constexpr Milliseconds kPause{5}, kWork{7};

class SynchronousTrainer {
 public:
  SynchronousTrainer(Store& store, const RoleOptions& options)
      : store_(store),
        options_(options),
        member_(store, options),
        tasks_(store, network_, options, CountTrainer::kBatch) {}

  void run() {
    rejoin();
    if (stopped()) return;
    client_.emplace(network_, client_options());
    enter();
    for (bool first = true; !stopped() && !tasks_.all_done();) {
      const std::uint64_t step = step_ + 1;
      bool with_batch = false;
      try {
        member_.stay();
        if (!first && tasks_.fill()) begun_ = 0;
        if (tasks_.batch() && tasks_.rollbacks() > view_.rollbacks) {
          throw StaleGeneration("a later task");
        }
        // Some servers may have applied the first step of a generation in the one before, and take nothing more of it.
        with_batch = tasks_.batch() && (!first || begun_ == step);
        take_step(step, with_batch);
        step_ = step;
        first = false;
      } catch (const StaleGeneration&) {
        first = true;
        if (!was_done(step)) continue;
      }
      std::this_thread::sleep_for(with_batch ? kWork : kPause);
      if (with_batch) tasks_.next(), begun_ = 0;
    }
    member_.leave();
  }

 private:
  bool stopped() const { return options_.stop && options_.stop(); }

  // After a generation has ended: whether the step was done nevertheless, all having finished it. If this trainer was away, others
  // may have done it alone, and its tasks are whoever's.
  bool was_done(std::uint64_t step) {
    rejoin();
    const bool away = member_.was_away();
    if (away) tasks_.release();
    enter();
    return !away && view_.step >= step && tasks_.batch();
  }
  // Waits for a view of a later generation than ours, in which this trainer is a member.
  void rejoin() {
    while (!stopped()) {
      try {
        member_.stay();
        const std::optional<JobView> view = read_job_view(store_, options_.prefix);
        if (view && view->generation > view_.generation && view->rank_of(options_.name)) {
          view_ = *view;
          return;
        }
      } catch (const Unavailable&) {
      }
      std::this_thread::sleep_for(kPause);
    }
  }
  void enter() {
    client_->join(view_.generation, view_.rank_of(options_.name).value_or(0));
    step_ = view_.step;
    tasks_.forget_before(view_.rollbacks);
    if (declared_ == view_.rollbacks) return;
    try {
      declare();
      declared_ = view_.rollbacks;
    } catch (const StaleGeneration&) {  // which the next step says, too
    }
  }
  void declare() {
    static const float zeros[2] = {0, 0};
    TableDeclaration table;
    table.options.name = "counts";
    table.options.width = 2;
    table.mode = Mode::synchronous;
    client_->declare(0, table);
    client_->declare({{0,
                       {.name = "sum",
                        .rows = 1,
                        .columns = 2,
                        .rule = RowRule::sgd(),
                        .mode = Mode::synchronous},
                       zeros}});
  }
  // Gradients of -1 at a rate of 1; without a batch this trainer takes part with nothing.
  void take_step(std::uint64_t step, bool with_batch) {
    client_->begin_step(step);
    if (with_batch) {
      begun_ = step;
      const std::vector<std::uint64_t>* const records = tasks_.batch();
      const std::vector<float> down(2 * records->size(), -1);
      client_->push(0, *records, down.data(), {.rate = 1});
      const float all[2] = {-static_cast<float>(records->size()), 0};
      client_->push(0, all, {.rate = 1});
    }
    client_->finish_step();
  }
  ClientOptions client_options() {
    ClientOptions options;
    options.view = [this] {
      std::optional<JobView> newest;
      try {
        newest = read_job_view(store_, options_.prefix);
      } catch (const Unavailable&) {
      }
      if (!newest) return view_.servers;
      if (newest->rollbacks != view_.rollbacks) throw StaleGeneration("back to a checkpoint");
      return newest->servers;
    };
    options.security = security_of(options_);
    options.sender = static_cast<std::uint32_t>(std::hash<std::string>{}(options_.name));
    options.deadline = Milliseconds(60000);
    options.attempt = Milliseconds(1000);
    return options;
  }

  Store& store_;
  const RoleOptions& options_;
  Network network_;
  Attendance member_;
  Batches tasks_;
  JobView view_;
  std::uint64_t step_ = 0;
  std::uint64_t begun_ = 0;                // the step in which the batch was pushed first
  std::optional<std::uint32_t> declared_;  // after so many rollbacks
  std::optional<ParameterClient> client_;
};

}  // namespace

void count_synchronously(const RoleOptions& options, const CountJob&) {
  const std::unique_ptr<Store> store = open_store(options);
  SynchronousTrainer(*store, options).run();
}

}  // namespace trireme::chaos
