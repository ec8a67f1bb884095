// The public interface of programs that train with many processes: trireme/distributed.h.

#include <signal.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include "base/error.h"
#include "distributed/launch/member_environment.h"
#include "distributed/launch/program_work.h"
#include "distributed/launch/training_member.h"
#include "distributed/strategy/check_training.h"
#include "session/job/distribution.h"
#include "session/train/training.h"
#include "trireme/distributed.h"

namespace trireme {
namespace {

using distributed::ProgramWork;
using distributed::RoleOptions;
using distributed::TrainingMember;

std::atomic<bool> asked_to_leave = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// SIGINT of a terminal goes to all processes at once, but only the launcher handles it and ends the
// others in order. A launcher that is gone reads no lines.
void leave_when_asked() {
  ::signal(SIGTERM, [](int) { asked_to_leave = true; });
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
}

bool by_servers(const Distribution& how) { return how.mode != Distribution::Mode::all_reduce; }

void check(const Distribution& how) {
  if (const auto wrong = job::wrong_setting(how)) {
    fail_usage("Distribution::" + wrong->key + " " + wrong->text);
  }
}

void check(const MemberOptions& options, const RoleOptions& role) {
  if (by_servers(options.distribution) && role.servers < 1) {
    fail_usage(
        "with parameters on servers (MemberOptions::distribution.mode) a job needs some: trireme "
        "launch --servers 1");
  }
  if (!by_servers(options.distribution) && role.servers > 0) {
    fail_usage(
        "mode all_reduce does not use parameter servers: leave --servers out, or set "
        "MemberOptions::distribution.mode");
  }
}

}  // namespace

struct Member::State {
  MemberOptions options;
  std::optional<RoleOptions> role = {};  // empty: without a job
  std::unique_ptr<TrainingMember> member = {};
  std::string cold_rows = {};  // as in ServerFolders
  bool distributed = false, trained = false, ended = false;
  bool left = false;  // after finish() or abandon()
  bool made = false;  // a Trainer was made with the options of distribute()
  int exceptions = std::uncaught_exceptions();
};

Member Member::join(MemberOptions options) {
  auto state = std::make_unique<State>(State{.options = std::move(options)});
  check(state->options.distribution);
  state->role = distributed::launched_member();
  if (state->role) {
    check(state->options, *state->role);
    leave_when_asked();
    state->role->stop = [] { return asked_to_leave.load(); };
    state->member = std::make_unique<TrainingMember>(*state->role);
  }
  return Member(std::move(state));
}

Member::Member(std::unique_ptr<State> state) : state_(std::move(state)) {}
Member::Member(Member&&) noexcept = default;

Member::~Member() {
  if (!state_ || std::uncaught_exceptions() > state_->exceptions) return;
  try {
    finish();
  } catch (const std::exception& error) {
    // Then another one may repeat it, without harm.
    std::fprintf(stderr, "this process could not report its end to the job: %s\n", error.what());
  }
}

void Member::finish() {
  if (!std::exchange(state_->left, true) && state_->member) state_->member->conclude();
}

void Member::abandon() noexcept { state_->left = true; }

std::string Member::name() const { return state_->role ? state_->role->name : ""; }
bool Member::is_launched() const { return state_->member != nullptr; }
int Member::trainers() const { return state_->role ? state_->role->trainers : 1; }
bool Member::is_chief() const {
  return state_->member ? state_->member->is_chief() : state_->ended;
}

TrainerOptions Member::distribute(Program& program, TrainerOptions options) {
  if (state_->distributed)
    fail_usage("Member::distribute() is called once: a member trains one Program");
  state_->distributed = true;
  use_new_names(options);
  if (options.exchange) fail_usage("TrainerOptions::exchange is what Member::distribute() sets");
  const Distribution& how = state_->options.distribution;
  if (state_->options.checkpoints.empty()) {
    state_->options.checkpoints = distributed::checkpoint_folder(program.name());
  }
  if (state_->options.exports.empty()) {
    state_->options.exports = distributed::export_folder(program.name());
  }
  state_->cold_rows = distributed::cold_rows_folder(how, program.name());
  if (state_->member) {
    state_->member->extend(program, options, how,
                           {state_->options.checkpoints, state_->options.exports});
  } else {  // what would not run with many processes does not run alone
    distributed::check_training(how.mode, options);
  }
  options.exchange = [state = state_.get(),
                      exchange = options.exchange](std::vector<ParameterGradient>& gradients) {
    state->made = true;
    if (exchange) exchange(gradients);
  };
  return options;
}

void Member::train(Trainer& trainer, const data::Batches& batches, const MemberTraining& training) {
  if (!state_->made) {
    fail_usage("Member::train() needs a Trainer made with what Member::distribute() gave");
  }
  if (training.epochs < 1) fail_usage("Member::train(): at least 1 epoch is expected");
  if (std::exchange(state_->trained, true)) fail_usage("Member::train() is called once");
  if (batches.size() < 1) fail_usage("there are no batches to train by");
  if (state_->member) {
    announce_work(state_->member->store(), state_->role->prefix,
                  ProgramWork{.batches = batches.size(),
                              .epochs = training.epochs,
                              .checkpoints = state_->options.checkpoints,
                              .cold_rows = state_->cold_rows,
                              .exports = state_->options.exports,
                              .how = state_->options.distribution});
    state_->member->train(trainer, batches, training.after_step);
  } else {
    trainer.fit(batches, {.epochs = training.epochs, .after_step = training.after_step});
  }
  state_->ended = true;
}

bool Member::save(Trainer& trainer, const std::string& directory, const SaveOptions& options) {
  if (!is_chief()) fail_usage("Member::save() is for the chief alone: if (member.is_chief())");
  if (state_->member && !state_->member->gather_tables()) return false;
  trainer.save(directory, options);
  return true;
}

}  // namespace trireme
