#include "mending.h"

namespace trireme::chaos {

namespace {

// Shorter measurements are not reported as late.
constexpr double kLate = 1.5;

double between(std::chrono::steady_clock::time_point from,
               std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

bool Mending::happen(const Event& event) {
  const bool alone = !havoc_.lasts() && !waiting_;
  const std::int64_t epoch = leaders_.seen().epoch;
  std::vector<std::string> there;
  if (event.fault == Fault::etcd_restart) there = all_processes();
  if (!havoc_.happen(event)) return false;
  const bool killed = event.fault == Fault::kill_trainer && alone;
  if (group_) group_->hit(killed ? std::optional(havoc_.killed()) : std::nullopt);
  give_up();
  if (event.fault == Fault::etcd_restart && alone) writers_.away(there);
  if (alone) begin(event, epoch);
  return true;
}

std::vector<std::string> Mending::all_processes() const {
  std::vector<std::string> all;
  for (const char* role : {"master", "server", "trainer"}) {
    for (const auto& [name, process] : havoc_.processes(role)) all.push_back(name);
  }
  return all;
}

void Mending::begin(const Event& event, std::int64_t epoch) {
  since_ = Steady::now();
  waiting_ = name_of(event.fault);
  killed_ = havoc_.killed();
  needs_rollback_ =
      event.fault == Fault::kill_server || event.fault == Fault::flip || event.fault == Fault::tear;
  if (event.fault != Fault::kill_master) return;
  waiting_ = havoc_.killed_leader() ? "kill master that leads" : "kill master that stands by";
  if (havoc_.killed_leader()) led_by_ = epoch;
}

bool Mending::hear(const std::string& name, const std::string& line) {
  return (group_ && group_->hear(name, line)) || writers_.hear(name, line);
}

// Whether this shows that the last fault is mended.
void Mending::progress(const std::string& name, Steady::time_point when) {
  if (!waiting_ || needs_rollback_ || led_by_ || havoc_.lasts(Fault::etcd_restart)) return;
  if (when < since_ || name == killed_) return;
  // There the time counts from when it could be reached again.
  const bool etcd = *waiting_ == name_of(Fault::etcd_restart);
  const double waited = between(etcd ? *havoc_.etcd_back() : since_, when);
  if (waited < 0) return;
  waits_[*waiting_].push_back(waited);
  waiting_.reset();
}

void Mending::poll() {
  if (havoc_.etcd_back() != etcd_back_) {
    etcd_back_ = havoc_.etcd_back();
    writers_.back(*etcd_back_);
  }
  if (!led_by_) return;
  const LeaderWatch::Seen seen = leaders_.seen();
  if (seen.epoch == *led_by_) return;
  waits_["kill master: another one leads"].push_back(between(since_, seen.since));
  led_by_.reset();
}

// Another fault happened, or the job is over.
void Mending::give_up() {
  const double waited = between(since_, Steady::now());
  if (waiting_ && waited > kLate) waits_[*waiting_].push_back(waited);
  if (led_by_ && waited > kLate) waits_["kill master: another one leads"].push_back(waited);
  writers_.give_up();
  waiting_.reset();
  led_by_.reset();
  needs_rollback_ = false;
}

std::map<std::string, std::vector<double>> Mending::waits() {
  give_up();
  if (group_) {
    group_->give_up();
    for (const auto& [what, all] : group_->waits()) waits_[what] = all;
  }
  if (!writers_.waits().empty()) waits_["restart etcd: all can write"] = writers_.waits();
  return waits_;
}

}  // namespace trireme::chaos
