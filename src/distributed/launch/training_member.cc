#include "distributed/launch/training_member.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

#include "base/error.h"
#include "distributed/coordination/key_watcher.h"
#include "distributed/strategy/check_training.h"
#include "ir/program.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kMemberPoll{20};
// Time for replaced servers to start and load their data.
constexpr Milliseconds kServers{300000};
constexpr std::uint64_t kLargestModel = std::uint64_t{4} << 30;
constexpr Milliseconds kFailureReportTimeout{
    2000};                              // in which a master hears of who ends by an error
constexpr Milliseconds kAttempt{1000};  // after which it is asked where the servers are now
constexpr Milliseconds kMemberStoreTimeout{500};  // in which the store is to say it
// Time for the store to return, for another master to lead, or for a group to form.
constexpr Milliseconds kOutage{120000};
constexpr std::int64_t kTrainerLease = 5;  // seconds

// In synchronous jobs and with all-reduce they may count twice.
void published_again(const Task& task) {
  std::printf(
      "%s of epoch %lld are handed out again: what the master said of them while the store was "
      "away "
      "has not happened\n",
      described(range_of(task.data)).c_str(), static_cast<long long>(task.epoch));
  std::fflush(stdout);
}

// This trainer must not begin: the job is over, or it must leave.
class EndsHere {};

// The axis of the mean of the loss, such as rows of sequences; nothing if it is unknown.
Value averaged(const Value& loss) {
  const ir::Op* const op = loss ? loss.get()->producer : nullptr;
  if (op == nullptr || op->name() != "mean") return {};
  const Value all(op->operands[0]);
  return all.rank() > 0 && !all.dim(0).is_constant() ? all : Value();
}

// A value whose axis 0 is that axis, or else the batch; an input if there is one.
Value counted(const Program& program, const Value& loss) {
  const Value all = averaged(loss);
  const Dim count = all ? all.dim(0) : Dim(batch);
  for (const Value& input : program.inputs()) {
    if (input.rank() > 0 && input.dim(0) == count) return input;
  }
  if (!all) {
    fail_usage("neither is the loss a mean, nor does any input count examples along its axis 0");
  }
  return all;
}

}  // namespace

TrainingMember::TrainingMember(const RoleOptions& options)
    : options_(options),
      store_(open_store(options)),
      monitor_(monitor_of(options_, "trainer")),
      lease_writer_(monitor_.health()),
      metrics_(monitor_.registry(), monitor_.health()),
      registry_(*store_, options.prefix) {
  monitor_.start();
  session_.emplace(*store_, kTrainerLease,
                   [this](const LeaseKeeper& lease) { registry_.join(monitor_.entry(), lease); });
  tasks_.emplace(*store_, network_,
                 TaskClientOptions{.prefix = options.prefix,
                                   .name = options.name,
                                   .security = security_of(options),
                                   .patience = kOutage,
                                   .stop = options.stop});
}

void TrainingMember::extend(Program& program, TrainerOptions& made, const Distribution& how,
                            const JobFolders& folders) {
  check_training(how.mode, made);
  mode_ = how.mode;
  folders_ = folders;
  if (how.export_seconds == 0) folders_.exports.clear();
  prefetch_ = how.prefetch;
  if (how.mode == Distribution::Mode::all_reduce) join_parallel(program, made, how);
  else join_servers(program, made, how);
}

void TrainingMember::join_parallel(Program& program, TrainerOptions& made,
                                   const Distribution& how) {
  group_.emplace(
      *store_, GroupMemberOptions{.prefix = options_.prefix,
                                  .name = options_.name,
                                  .folder = how.checkpoint_seconds > 0 ? folders_.checkpoints : "",
                                  .patience = kOutage,
                                  .stop = options_.stop});
  DataParallelOptions parallel;
  parallel.group.prefix = options_.prefix + "group/";
  parallel.group.name = options_.name;
  parallel.group.patience = kOutage;
  parallel.group.group.address = own_ip(options_);
  parallel.group.group.on_unauthenticated_peer = [this] { metrics_.count_unauthenticated_peer(); };
  parallel.found = [this](std::int64_t generation) { return found_group(generation); };
  parallel.entered = [this] { return enter_group(); };
  parallel_.emplace(*store_, parallel, program, counted(program, made.loss));
  parallel_->extend(made);
}

void TrainingMember::join_servers(Program& program, TrainerOptions& made, const Distribution& how) {
  views_.emplace([this] { return read_job_view(*store_, options_.prefix); });
  client_.emplace(network_,
                  ClientOptions{.view = [this] { return newest_servers(); },
                                .security = security_of(options_),
                                .sender = static_cast<std::uint32_t>(session_->first_lease()),
                                .deadline = kServers,
                                .attempt = kAttempt});
  ServerTrainingOptions training;
  if (how.mode == Distribution::Mode::synchronous) training.mode = Mode::synchronous;
  if (how.mode == Distribution::Mode::geo) training.mode = Mode::geo;
  training.table.admission = static_cast<int>(how.admission);
  training.table.memory_limit = static_cast<std::uint64_t>(how.memory_limit);
  training.spill = how.memory_limit > 0;
  training.table.float16 = how.float16;
  training.table.decay = how.eviction.decay;
  training.counts = how.eviction.below > 0;
  training.clicks = how.eviction.clicks;
  if (how.staleness > 0) {
    training.pushes = std::min(training.pushes, static_cast<std::size_t>(how.staleness - 1));
  }
  set_optimizer(training, made.optimizer);
  by_servers_.emplace(*client_, training, program);
  by_servers_->extend(made);
  if (how.staleness > 0) keep_pace(static_cast<std::uint32_t>(how.staleness));
}

// No trainer may be ahead by more steps than that.
void TrainingMember::keep_pace(std::uint32_t lead) {
  clock_.emplace(*tasks_,
                 StepClockOptions{.lead = lead,
                                  .unfinished = [this] { return by_servers_->unfinished(); },
                                  .settle = [this] { by_servers_->wait_for_pushes(); },
                                  .stopped =
                                      [this] {
                                        check_session();
                                        return stopped();
                                      }});
}

void TrainingMember::train(Trainer& trainer, const data::Batches& batches,
                           const AfterStep& after_step) try {
  using Mode = Distribution::Mode;
  trainer_ = &trainer;
  after_step_ = after_step;
  TaskReader reader(
      *tasks_, batches, [this](const Task& task, const std::string& why) { given_back(task, why); },
      published_again);
  try {
    switch (mode_) {
      case Mode::all_reduce: train_in_parallel(reader, batches); break;
      case Mode::synchronous: train_by_servers_together(reader); break;
      case Mode::asynchronous:
      case Mode::geo: train_by_servers(reader); break;
    }
  } catch (const Error& error) {
    if (!stopped()) fail(reader, error);
    throw;
  }
  metrics_.rest();
  tell();
} catch (const Unavailable&) {
  if (!stopped()) throw;  // a trainer that leaves does not need the others
}

// A batch of it could not be read. In mode geo its local training has not been pushed and is
// dropped.
void TrainingMember::given_back(const Task& task, const std::string& why) {
  std::printf("%s are returned: %s\n", described(range_of(task.data)).c_str(), why.c_str());
  std::fflush(stdout);
  if (mode_ == Distribution::Mode::geo) by_servers_->forget_deltas();
}

// Before this process ends with an error. Failed other processes are not caused by a task, nor is a
// loss of NaN or infinity. For other errors the batch is the cause, as long as other batches can be
// trained.
void TrainingMember::fail(TaskReader& reader, const Error& error) {
  if (error.kind() == ErrorKind::io || error.kind() == ErrorKind::numeric) {
    try {
      reader.leave(kFailureReportTimeout);
    } catch (const Unavailable&) {  // then it looks as if this process had died
    }
    return;
  }
  bool learned = false;
  try {
    learned = reader.give_back(error.what());
  } catch (const Unavailable&) {
  }
  if (learned) {
    fail_io(std::string(error.what()) +
            "\n  another process is to go on; the batches are tried again, three times in all");
  }
}

// For the client. After a rollback of the job its requests are not repeated any more.
ServerView TrainingMember::newest_servers() {
  std::optional<JobView> view = views_->now(kMemberStoreTimeout).value_or(std::nullopt);
  const bool first = !std::exchange(servers_notified_, true);
  if (!view && first) view = view_;
  if (!view) throw Unavailable("the store does not say which parameter servers there are");
  if (view_ && view->rollbacks != view_->rollbacks) {
    throw StaleGeneration("the job has gone back to a checkpoint");
  }
  return std::move(view->servers);
}

// In order: finishes begun tasks, returns the others, and no other member waits for this one.
void TrainingMember::leave(TaskReader& reader) {
  try {
    if (by_servers_ && view_) by_servers_->settle();
  } catch (const StaleGeneration&) {  // others learn it again
  }
  reader.leave();
  leave_members();
}

// Waits for a view of a later generation with this trainer among its members, if there are members.
void TrainingMember::rejoin(TaskReader& reader) {
  const bool together = mode_ == Distribution::Mode::synchronous;
  const Deadline end = in(kServers);
  KeyWatcher views(*store_, view_key(options_.prefix));
  for (;;) {
    if (stopped()) return;
    check_session();
    views.check();
    std::optional<JobView> view;
    if (const auto entry = views.get(view_key(options_.prefix))) view = job_view_of(entry->value);
    if (view && (!view_ || view->generation > view_->generation) &&
        (!together || view->rank_of(options_.name))) {
      try {
        return enter(std::move(*view), reader);
      } catch (const StaleGeneration&) {  // already another one
      }
    }
    if (std::chrono::steady_clock::now() > end) {
      throw Unavailable("no master has said what becomes of the parameter servers");
    }
    views.wait(kMemberPoll);
  }
}
void TrainingMember::enter(JobView view, TaskReader& reader) {
  const bool back = !view_ || view.rollbacks != view_->rollbacks;
  view_ = std::move(view);
  client_->join(view_->generation, view_->rank_of(options_.name).value_or(0));
  reader.forget_before(view_->rollbacks);
  by_servers_->go_on(view_->step, view_->updates);
  if (back) by_servers_->start(*trainer_);
}

// No member of a group remains, or this is the first one: its members begin where the leader says.
std::int64_t TrainingMember::found_group(std::int64_t generation) {
  if (is_concluded()) throw EndsHere();
  const std::optional<GroupStart> start = group_->found(generation);
  if (!start) throw EndsHere();
  if (start->checkpoint > 0) {
    parallel_->set_state(group_->load(*start, parallel_->state_bytes()));
  } else if (parallel_->steps() > 0) {
    fail_io(
        "all other trainers have failed, and there is no checkpoint: this one must start "
        "again");
  }
  return start->committed;
}

// Tasks of before the rollback belong to other trainers.
bool TrainingMember::enter_group() {
  const std::uint32_t rollbacks = group_->start().rollbacks;
  reader_->forget_before(rollbacks);
  return !read_ || read_->rollbacks >= rollbacks;
}

// Every step is one of all members; those without a batch take part with any batch.
void TrainingMember::train_in_parallel(TaskReader& reader, const data::Batches& batches) try {
  reader_ = &reader;
  parallel_->join(*trainer_);
  data::Batch last = batches.dataset().rows(0, 1);
  for (;;) {
    if (stopped()) return leave(reader);
    read_ = reader.next();
    if (read_) last = std::move(read_->batch);
    metrics_.begin();
    try {
      const double loss = parallel_->step(last, read_.has_value());
      if (read_) report(loss, data::examples_in(last));
      else metrics_.idle();
    } catch (const StaleGeneration&) {
      metrics_.repeated();
      continue;
    }
    if (!read_ || read_->last) reader.finish();
    if (parallel_->examples() > 0) continue;
    if (reader.all_done()) break;
    if (parallel_->rank() == 0) {
      group_->save_if_asked(parallel_->steps(), [this] { return parallel_->state(); });
    }
  }
  chief_ = parallel_->rank() == 0 && !is_concluded();
} catch (const EndsHere&) {
  if (stopped()) leave(reader);
}

// Each trainer goes at its own pace.
void TrainingMember::train_by_servers(TaskReader& reader) {
  rejoin(reader);
  // The next batch: kept for the next generation if it belongs to it already.
  std::optional<TaskReader::Read> read;
  while (!reader.all_done()) {
    if (stopped()) return leave(reader);
    try {
      if (!read) read = reader.next();
      if (!read) {
        if (clock_) clock_->idle();
        metrics_.waited();
        std::this_thread::sleep_for(kMemberPoll);
        continue;
      }
      if (read->rollbacks > view_->rollbacks) throw StaleGeneration("a task of a later time");
      if (read->rollbacks < view_->rollbacks) {  // of a master that does not lead any more
        reader.forget_before(view_->rollbacks);
        read.reset();
        continue;
      }
      if (clock_ && !clock_->begin()) return leave(reader);
      metrics_.begin();
      prefetch_next(*read, reader);
      // All trainers are at the common position in the schedule, however late they joined.
      const auto place = static_cast<std::uint64_t>(read->place);
      const double loss = by_servers_->step(
          read->batch, ServerTraining::TaskBatch{
                           read->task, read->epoch, read->number, read->last,
                           place / static_cast<std::uint64_t>(std::max(options_.trainers, 1))});
      if (clock_) clock_->end();
      report(loss, data::examples_in(read->batch));
      if (read->last) {
        by_servers_->wait_for_pushes();
        reader.finish();
      }
      read.reset();
    } catch (const StaleGeneration&) {
      metrics_.repeated();
      rejoin(reader);
    }
  }
  end_by_servers();
}

// Requests rows of the step after this one, unless they would be too old by then.
void TrainingMember::prefetch_next(const TaskReader::Read& read, TaskReader& reader) {
  if (!prefetch_ || (clock_ && !clock_->allows_prefetch())) return;
  if (mode_ == Distribution::Mode::geo && read.last) return;
  const TaskReader::Read* const next = reader.peek();
  if (next != nullptr && next->rollbacks == view_->rollbacks) by_servers_->prefetch(next->batch, 1);
}

// Every step is one of all members; those without a batch take part, too.
void TrainingMember::train_by_servers_together(TaskReader& reader) {
  SynchronousTurn turn;
  enter_turn(turn, reader);
  for (;;) {
    if (stopped()) return leave(reader);
    if (turn.wants_batch() && (read_ = reader.next())) turn.take(read_->rollbacks);
    metrics_.begin();
    bool learned = false;
    try {
      if (turn.begin(by_servers_->steps() + 1))
        report(by_servers_->step(read_->batch), data::examples_in(read_->batch));
      else by_servers_->step_without_batch(), metrics_.idle();
      learned = turn.finish();
    } catch (const StaleGeneration&) {
      metrics_.repeated();
      learned = enter_turn(turn, reader);
      if (!learned) continue;
    }
    if (learned && read_->last) reader.finish();
    if (learned) read_.reset();
    if (by_servers_->examples() > 0 || read_) continue;
    if (reader.all_done()) break;
    metrics_.waited();
    std::this_thread::sleep_for(kMemberPoll);
  }
  leave_members();
  end_by_servers();
}

// Waits for the next generation. Returns whether the batch was trained in the previous one.
bool TrainingMember::enter_turn(SynchronousTurn& turn, TaskReader& reader) {
  rejoin(reader);
  if (!view_) return false;  // told to stop before there was one
  using BatchOutcome = SynchronousTurn::BatchOutcome;
  const std::int64_t absences = session_->absences();
  const BatchOutcome outcome = turn.enter(*view_, std::exchange(absences_, absences) != absences);
  if (outcome == BatchOutcome::released) reader.leave();
  if (outcome == BatchOutcome::released || outcome == BatchOutcome::forgotten) read_.reset();
  return outcome == BatchOutcome::done;
}

void TrainingMember::end_by_servers() {
  if (stopped()) return;
  by_servers_->settle();
  patiently([this] {
    session_->with([this](const LeaseKeeper& lease) {
      chief_ = registry_.claim_place(kChiefRole, 1, lease, options_.name).has_value();
    });
  });
  chief_ = chief_ && !is_concluded();
}

// Leaves for good.
void TrainingMember::leave_members() {
  patiently([this] {
    session_->become(
        [this](const LeaseKeeper& lease) { registry_.leave("trainer", options_.name, lease); });
  });
}

// For the health of the process. It does not use the store, so that no step waits for it.
void TrainingMember::check_session() {
  lease_writer_.tell(session_->lost());
  session_->check();
}

// Repeats `ask`, which uses the store, until it gets an answer.
void TrainingMember::patiently(const std::function<void()>& ask) const {
  for (const Deadline end = in(kOutage);;) {
    try {
      return ask();
    } catch (const Error& error) {
      // not_found: the lease has just expired; there will be another one.
      const bool again = dynamic_cast<const Unavailable*>(&error) != nullptr ||
                         error.kind() == ErrorKind::not_found;
      if (!again || stopped() || std::chrono::steady_clock::now() > end) throw;
    }
    std::this_thread::sleep_for(kMemberPoll);
  }
}

bool TrainingMember::is_concluded() {
  bool concluded = false;
  patiently([&] { concluded = store_->get(concluded_key()).has_value(); });
  return concluded;
}

// A line for the launcher, which sums the progress of all trainers.
void TrainingMember::report(double loss, std::int64_t examples) {
  check_session();
  steps_ += 1, examples_ += examples, losses_ += loss;
  metrics_.step(loss, examples);
  if (after_step_) after_step_(++own_steps_, loss);
  const auto now = std::chrono::steady_clock::now();
  if (now - reported_ < std::chrono::milliseconds(500)) return;
  reported_ = now;
  tell();
}
void TrainingMember::tell() {
  if (parallel_) metrics_.group(*parallel_);
  if (client_) metrics_.client(client_->statistics());
  if (steps_ == 0) return;
  std::printf("progress %lld %lld %.6g\n", static_cast<long long>(steps_),
              static_cast<long long>(examples_), losses_ / static_cast<double>(steps_));
  std::fflush(stdout);
  steps_ = examples_ = 0;
  losses_ = 0;
}

void TrainingMember::conclude() {
  if (!chief_) return;
  tell();
  patiently([this] { store_->put(concluded_key(), options_.name); });
}

bool TrainingMember::gather_tables() {
  if (!by_servers_) return true;
  std::uint64_t bytes = 0;
  for (const std::string& name : by_servers_->tables()) bytes += by_servers_->table_bytes(name);
  if (bytes > kLargestModel) {
    const std::string exports =
        folders_.exports.empty() ? "" : ", and for serving in " + folders_.exports;
    std::printf("the tables have %.1f GB, too much for a saved model: they are in %s%s\n",
                static_cast<double>(bytes) / 1e9, folders_.checkpoints.c_str(), exports.c_str());
    return false;
  }
  by_servers_->gather_tables();
  return true;
}

}  // namespace trireme::distributed
