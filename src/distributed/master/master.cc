#include "distributed/master/master.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "distributed/master/protocol.h"
#include "distributed/transport/connection.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kTickInterval{50};  // between two looks at what time has changed
constexpr Milliseconds kMembers{500};      // between two reads of the members
constexpr Milliseconds kHeld{500};         // after which a waiting trainer must ask again
constexpr Milliseconds kWay{3000};         // for the earlier leader, when the store is back
constexpr const char* kTrainers = "trainer";
constexpr const char* kMasters = "master";

Frame frame_of(Code code) {
  Frame frame;
  frame.header.code = code;
  return frame;
}

}  // namespace

Master::Master(Store& store, MasterOptions options)
    : store_(store), options_(std::move(options)), election_(store, options_.prefix + "master") {
  if (!options_.tasks || options_.epochs < 1) fail_usage("a master needs tasks and epochs");
  check_lease_time(options_.lease);
  FrameServerOptions server = options_.server;
  server.service = kMasterService;
  server_.emplace(server, [this](const Peer& peer, Frame request, Answer& reply) {
    if (!peer.role.empty() && peer.role != "trainer") {
      fail_usage("only trainers ask a master for tasks, and this is a " + peer.role);
    }
    answer(std::move(request), reply);
  });
  thread_ = std::thread([this] { run(); });
}

Master::~Master() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  server_->stop(in(Milliseconds(100)));
}

std::string Master::address() const {
  return options_.host + ":" + std::to_string(server_->port());
}

bool Master::leads() const {
  const std::lock_guard lock(mutex_);
  return queue_.has_value();
}

bool Master::finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

std::optional<TaskCounts> Master::counts() const {
  const std::lock_guard lock(mutex_);
  return queue_ ? std::optional(queue_->counts()) : std::nullopt;
}

std::optional<std::string> Master::hopeless() const {
  const std::lock_guard lock(mutex_);
  return hopeless_;
}

std::int64_t Master::epoch() const {
  const std::lock_guard lock(mutex_);
  return queue_ ? queue_->epoch() : 0;
}

std::optional<Leadership> Master::leadership() const {
  const std::lock_guard lock(mutex_);
  return queue_ ? std::optional(leadership_) : std::nullopt;
}

void Master::publish(const std::string& key, const std::string& value) {
  Transaction put;
  {
    const std::lock_guard lock(mutex_);
    if (!queue_) return;
    put = {.when = {leadership_.guard}, .then = {Put{key, value, lease_->id()}}};
  }
  store_.commit(put);
}

void Master::pause() {
  const std::lock_guard lock(mutex_);
  hands_ = Hands::none;
}

void Master::drain() {
  const std::lock_guard lock(mutex_);
  hands_ = Hands::begun;
}

void Master::go_on(std::uint32_t rollbacks) {
  const std::lock_guard lock(mutex_);
  hands_ = Hands::all;
  rollbacks_ = rollbacks;
}

std::optional<QueueState> Master::state_at_rest() const {
  const std::lock_guard lock(mutex_);
  if (!queue_ || queue_->epoch() == 0 || queue_->away()) return std::nullopt;
  const TaskCounts counts = queue_->counts();
  return counts.pending + counts.begun > 0 ? std::nullopt : std::optional(queue_->state());
}

bool Master::restore(const QueueState& state) try {
  const std::lock_guard lock(mutex_);
  if (!queue_) return false;
  const std::int64_t epoch = std::max<std::int64_t>(state.epoch, 1);
  // This comes first, so that the next leader does not consider unfinished tasks done.
  const Transaction forget{.when = {leadership_.guard}, .then = {Erase{options_.prefix + "done"}}};
  if (finished_ && !store_.commit(forget).succeeded) return false;
  over_ = concluded_ = finished_ = false;
  lose_gone();  // before the owners of tasks are forgotten
  work_changed_ = true;
  queue_->restore({epoch, state.done, state.failed}, options_.tasks(epoch));
  return true;
} catch (const Deposed&) {
  return false;
}

std::optional<Master::Done> Master::done() const {
  const std::lock_guard lock(mutex_);
  return queue_ ? std::optional(Done{queue_->epoch(), queue_->done()}) : std::nullopt;
}

bool Master::all_over() const {
  const std::lock_guard lock(mutex_);
  return queue_ && over_ && !concluded_;
}

void Master::conclude() {
  const std::lock_guard lock(mutex_);
  concluded_ = true;
}

bool Master::concluded() const {
  const std::lock_guard lock(mutex_);
  return concluded_;
}

std::int64_t Master::trainers() const {
  const std::lock_guard lock(mutex_);
  return members_;
}

bool Master::wait(Milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, timeout, [this] { return stop_; });
}

// After an error that another attempt may not get, this master tries again to become the leader.
void Master::run() {
  while (wait(Milliseconds(0))) {
    try {
      const LeaseKeeper lease(store_, {.seconds = options_.lease});
      be_known(lease);
      if (std::exchange(was_away_, false)) gives_way_until_ = TaskQueue::Clock::now() + kWay;
      while (wait(gives_way() ? kTickInterval : Milliseconds(0)) && !lease.ended()) {
        if (gives_way()) continue;
        const auto leader = election_.campaign(address(), lease, Milliseconds(200));
        if (!leader) continue;
        lead(*leader, lease);
        election_.resign(*leader);
      }
    } catch (const Unavailable&) {
      was_away_ = true;
    } catch (const Deposed&) {
    } catch (const Error& error) {
      // A lease that ended, or an answer of the store that another attempt may not get.
      if (error.kind() != ErrorKind::not_found && error.kind() != ErrorKind::io) return fail();
      report_trouble(error.what());
    } catch (const std::exception&) {
      return fail();
    }
    if (!wait(Milliseconds(200))) return;
  }
}

// Stops for good. The caller has caught the error: check().
void Master::fail() {
  const std::lock_guard lock(mutex_);
  failure_ = std::current_exception();
}

void Master::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

// A message that does not change is not repeated.
void Master::report_trouble(const std::string& why) {
  if (std::exchange(trouble_, why) != why && options_.say) options_.say("tries again: " + why);
}

// For a master that led when the store became unavailable, and whose lease may have expired there.
bool Master::gives_way() const {
  const std::lock_guard lock(mutex_);
  return !former_ && TaskQueue::Clock::now() < gives_way_until_;
}

void Master::be_known(const LeaseKeeper& lease) {
  ProcessEntry process = options_.process;
  if (process.name.empty()) return;
  process.role = kMasters;
  process.address = address();
  ProcessRegistry registry(store_, options_.prefix);
  registry.forget(kMasters, process.name);  // an older lease of ours that lives on in the store
  registry.join(process, lease);
}

// A lease that may have expired is no reason to stop, because the store decides. Until then guards
// prevent writes of a deposed leader.
void Master::lead(const Leader& leader, const LeaseKeeper& lease) {
  const auto end = [this] {
    const std::lock_guard lock(mutex_);
    end_lead();
  };
  try {
    begin_lead(leader, lease);
    while (!lease.ended() && poll_again() && wait(kTickInterval)) {
    }
  } catch (...) {
    end();
    throw;
  }
  end();
}

void Master::begin_lead(const Leader& leader, const LeaseKeeper& lease) {
  const bool done = store_.get(options_.prefix + "done").has_value();
  const Condition guard = election_.guard(leader);
  const bool again = goes_on(leader, guard);
  const std::lock_guard lock(mutex_);
  leadership_ = {static_cast<std::uint64_t>(leader.epoch), guard};
  hands_ = options_.hold ? Hands::none : Hands::all;
  lease_ = &lease;
  if (again) {
    queue_.emplace(std::move(*former_));
    if (queue_->come_back_as(guard)) wait_for_members();
  } else {
    read_queue(guard);
    known_since_ = leader.epoch;
  }
  former_.reset();
  // The conclusion of the previous leader is not repeated: processes that it would need may have
  // ended.
  over_ = concluded_ = finished_ = done && queue_->epoch() >= options_.epochs && queue_->finished();
}

// Whether no other master has led since this one knew its state. If another one has, this master
// starts from the store.
bool Master::goes_on(const Leader& leader, const Condition& guard) {
  const std::string led = options_.prefix + "led";
  std::optional<std::string> since;
  {
    const std::lock_guard lock(mutex_);
    if (former_) since = std::to_string(known_since_);
  }
  if (since && store_.commit({.when = {guard, is_value(led, *since)}}).succeeded) return true;
  const Put begins{led, std::to_string(leader.epoch)};
  if (!store_.commit({.when = {guard}, .then = {begins}}).succeeded) throw Deposed();
  return false;
}

void Master::read_queue(const Condition& guard) {
  queue_.emplace(
      store_, TaskQueueOptions{.prefix = options_.prefix + "task/",
                               .guard = guard,
                               .poison = options_.poison,
                               .min_timeout = options_.min_timeout,
                               .factor = options_.factor,
                               .describe = options_.describe,
                               .ended_badly = [this](const BadTask& task) { report_bad(task); }});
}

void Master::end_lead() {
  if (queue_) former_.emplace(std::move(*queue_));
  queue_.reset();
  lease_ = nullptr;
  hopeless_.reset();
  pace_ = {};
  for (Waiting& each : waiting_) each.answer(frame_of(Code::stale));
  waiting_.clear();
}

// Whether it still leads.
bool Master::poll_again() {
  const std::lock_guard lock(mutex_);
  if (!queue_) return false;
  try {
    poll();
  } catch (const Deposed&) {
    return false;
  } catch (const Unavailable&) {
    queue_->go_away();
  }
  return true;
}

void Master::poll() {
  // By the lease, so that requests do not wait for a store that is still unavailable.
  if (queue_->away() && lease_->heard() > *queue_->away_since() && queue_->come_back()) {
    wait_for_members();
  }
  const auto now = TaskQueue::Clock::now();
  queue_->expire(now);
  if (!queue_->away() && now - polled_ >= kMembers) lose_gone();
  work_changed_ = true;
  let_go();
  check_epochs();
}

void Master::check_epochs() {
  if (queue_->epoch() > 0 && !queue_->finished()) return;
  if (begin_next() || finished_ || queue_->away()) return;
  over_ = true;
  if (options_.hold && !concluded_) return;
  const Transaction done{.when = {leadership_.guard}, .then = {Put{options_.prefix + "done", "1"}}};
  if (!store_.commit(done).succeeded) throw Deposed();
  finished_ = true;
}

// Whether another master may lead now, to the knowledge of this one.
bool Master::store_unreachable() const { return queue_->away() || lease_->lost(); }

Frame Master::sign(Frame frame) const {
  frame.header.sequence = static_cast<std::uint64_t>(known_since_);
  if (store_unreachable()) frame.header.flags |= kStoreUnreachable;
  return frame;
}

// Whether another epoch exists and has begun. Finds out whether the job cannot continue.
bool Master::begin_next() {
  const TaskCounts counts = queue_->counts();
  if (queue_->epoch() > 0 && counts.done == 0 && counts.failed > 0) {
    hopeless_ = "all " + std::to_string(counts.failed) + " tasks of epoch " +
                std::to_string(queue_->epoch()) + " have failed; " + text_of(queue_->bad().back());
    return true;
  }
  const std::int64_t next = queue_->epoch() + 1;
  if (next > options_.epochs) return false;
  queue_->begin(next, options_.tasks(next));
  return true;
}

void Master::report_bad(const BadTask& task) const {
  if (options_.say) options_.say((task.failed ? "left out: " : "") + text_of(task));
}

// Their leases may have expired while the store was unavailable; they become members again soon.
void Master::wait_for_members() {
  polled_ = TaskQueue::Clock::now() + std::chrono::seconds(options_.lease);
}

// They failed, or were disconnected for too long.
void Master::lose_gone() {
  std::set<std::string> here;
  for (const ProcessEntry& trainer : ProcessRegistry(store_, options_.prefix).list(kTrainers)) {
    here.insert(trainer.name);
  }
  polled_ = TaskQueue::Clock::now();
  members_ = std::max<std::int64_t>(static_cast<std::int64_t>(here.size()), 1);
  std::vector<std::string> gone;
  for (const std::string& owner : queue_->owners()) {
    if (!here.contains(owner)) gone.push_back(owner);
  }
  queue_->lose(gone);
}

void Master::answer(Frame request, Answer& answer) {
  const std::lock_guard lock(mutex_);
  if (!queue_) return answer(frame_of(Code::stale));
  try {
    if (static_cast<MasterOp>(request.header.op) == MasterOp::pace) return pace(request, answer);
    work_changed_ = true;
    switch (static_cast<MasterOp>(request.header.op)) {
      case MasterOp::take: return answer(sign(take(request)));
      case MasterOp::finish: return answer(sign(end(request, true)));
      case MasterOp::give_back: return answer(sign(end(request, false)));
      case MasterOp::release: return answer(sign(release(request)));
      case MasterOp::pace: break;
    }
  } catch (const Deposed&) {
    end_lead();
    return answer(frame_of(Code::stale));
  }
  fail_data("a master has no operation " + std::to_string(request.header.op));
}

// At most its share of half of the remaining tasks, so that towards the end of an epoch no trainer
// holds many.
Frame Master::take(const Frame& request) {
  const Owned asked = owned_of(request);
  const std::int64_t wanted = std::min(request.header.table, kMaxTasks);
  Owned owned{asked.owner, {}};
  for (Task& task : queue_->pending_of(asked.owner)) {
    const bool held = std::any_of(asked.tasks.begin(), asked.tasks.end(), [&](const Task& one) {
      return one.id == task.id && one.attempt == task.attempt && one.epoch == task.epoch;
    });
    if (!held && owned.tasks.size() < kMaxTasks) owned.tasks.push_back(std::move(task));
  }
  const std::int64_t share = (queue_->counts().todo + 2 * members_ - 1) / (2 * members_);
  const auto more = std::min(wanted, share) - static_cast<std::int64_t>(owned.tasks.size());
  const auto which = hands_ == Hands::begun ? TaskQueue::Which::begun : TaskQueue::Which::any;
  for (std::int64_t i = 0; i < more && hands_ != Hands::none; ++i) {
    std::optional<Task> task = queue_->take(owned.owner, TaskQueue::Clock::now(), which);
    if (!task) break;
    owned.tasks.push_back(std::move(*task));
  }
  Frame frame = frame_of(Code::ok);
  put_owned(frame, owned);
  frame.header.generation = rollbacks_;
  if (finished_) frame.header.flags = kAllDone;
  return frame;
}

Frame Master::end(const Frame& request, bool well) {
  const Owned owned = owned_of(request);
  const bool ends = (request.header.flags & kEnds) != 0;
  Frame frame = frame_of(Code::ok);
  for (const Task& task : owned.tasks) {
    const bool own = well ? queue_->finish(owned.owner, task, TaskQueue::Clock::now())
                          : queue_->give_back(owned.owner, task, owned.why, ends);
    frame.header.count += own ? 1 : 0;
  }
  if (!well && (queue_->epoch() > 1 || queue_->counts().done > 0)) frame.header.flags = kLearned;
  return frame;
}

Frame Master::release(const Frame& request) {
  Frame frame = frame_of(Code::ok);
  frame.header.count = static_cast<std::uint32_t>(queue_->release(owned_of(request).owner));
  return frame;
}

// A trainer that asks again no longer waits for the previous answer.
void Master::pace(const Frame& request, Answer& answer) {
  PaceRequest asked = pace_request_of(request);
  std::erase_if(waiting_, [&](const Waiting& each) { return each.request.name == asked.name; });
  answer.put_aside();
  waiting_.push_back({std::move(asked), TaskQueue::Clock::now() + kHeld, std::move(answer)});
  let_go();
}

void Master::let_go() {
  if (waiting_.empty()) return;
  if (work_changed_) pace_.set_working(queue_->owners());
  work_changed_ = false;
  for (const Waiting& each : waiting_) pace_.ask(each.request);  // all are heard before one may go
  const auto now = TaskQueue::Clock::now();
  std::erase_if(waiting_, [&](Waiting& each) {
    const PaceAnswer told = pace_.ask(each.request);
    if (!told.go && now < each.until) return false;
    Frame frame = frame_of(Code::ok);
    put_pace(frame, told);
    each.answer(sign(std::move(frame)));
    return true;
  });
}

}  // namespace trireme::distributed
