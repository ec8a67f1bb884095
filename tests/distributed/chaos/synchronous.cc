#include <cstdio>
#include <optional>
#include <thread>

#include "distributed/control/synchronous_turn.h"
#include "distributed/control/testing/count_trainer.h"
#include "tasks.h"
#include "together.h"

namespace trireme::chaos {

using namespace distributed;

namespace {

constexpr Milliseconds kPause{5}, kWork{25};

class SynchronousTrainer {
 public:
  SynchronousTrainer(Store& store, const RoleOptions& options, const CountJob& job)
      : store_(store),
        options_(options),
        job_(job),
        member_(store, options),
        tasks_(store, network_, options, CountTrainer::kBatch) {}

  void run() {
    rejoin();
    if (stopped()) return;
    client_.emplace(network_, client_options());
    enter();
    while (!stopped() && !tasks_.all_done()) {
      bool learned = false;
      try {
        member_.stay();
        if (turn_.wants_batch() && tasks_.fill()) turn_.take(tasks_.rollbacks());
        take_step();
        learned = turn_.finish();
      } catch (const StaleGeneration&) {
        rejoin();
        learned = enter();
        if (!learned) continue;
      }
      std::this_thread::sleep_for(learned ? work_time(job_, kWork) : kPause);
      if (learned) tasks_.next();
    }
    member_.leave();
  }

 private:
  bool stopped() const { return options_.stop && options_.stop(); }

  // Waits for a view of a later generation with this trainer among its members.
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
  // Enters the generation of the view. Returns whether the batch was counted in the previous one.
  bool enter() {
    client_->join(view_.generation, view_.rank_of(options_.name).value_or(0));
    step_ = view_.step;
    using BatchOutcome = SynchronousTurn::BatchOutcome;
    const BatchOutcome outcome = turn_.enter(view_, member_.was_away());
    if (outcome == BatchOutcome::released) tasks_.release();
    tasks_.forget_before(view_.rollbacks);
    if (declared_ == view_.rollbacks) return outcome == BatchOutcome::done;
    try {
      CountTrainer::declare(*client_, Mode::synchronous);
      declared_ = view_.rollbacks;
    } catch (const StaleGeneration&) {  // which the next step says, too
    }
    return outcome == BatchOutcome::done;
  }
  // Gradients of -1 at a rate of 1; without a batch this trainer takes part with nothing.
  void take_step() {
    const bool with_batch = turn_.begin(step_ + 1);
    client_->begin_step(step_ + 1);
    if (with_batch) {
      const std::vector<std::uint64_t>* const records = tasks_.batch();
      const std::vector<float> down(2 * records->size(), -1);
      client_->push(0, *records, down.data(), {.rate = 1});
      const float all[2] = {-static_cast<float>(records->size()), 0};
      for (std::uint32_t sum = 0; sum < CountTrainer::kSums; ++sum) {
        client_->push(sum, all, {.rate = 1});
      }
    }
    client_->finish_step();
    ++step_;
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
  const CountJob& job_;
  Network network_;
  Attendance member_;
  Batches tasks_;
  JobView view_;
  SynchronousTurn turn_;
  std::uint64_t step_ = 0;                 // that all have finished
  std::optional<std::uint32_t> declared_;  // after this number of rollbacks
  std::optional<ParameterClient> client_;
};

}  // namespace

void count_synchronously(const RoleOptions& options, const CountJob& job) {
  const std::unique_ptr<Store> store = open_store(options);
  SynchronousTrainer(*store, options, job).run();
}

}  // namespace trireme::chaos
