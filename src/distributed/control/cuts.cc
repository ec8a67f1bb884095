#include "distributed/control/cuts.h"

#include <fmt/core.h>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr std::chrono::seconds kDrain{120};

}  // namespace

void Cuts::say(const std::string& text) const {
  if (options_.say) options_.say(text);
}

void Cuts::begin(const Leadership& leadership) {
  leadership_ = leadership;
  draining_.reset();
  next_ = Clock::now() + every();
}

void Cuts::put(std::vector<Action> actions) {
  if (!store_.commit({.when = {leadership_->guard}, .then = std::move(actions)}).succeeded) {
    throw Deposed();
  }
}

checkpoint::Catalog Cuts::catalog() {
  return {store_,
          {.folder = options_.folder,
           .prefix = options_.prefix + "checkpoint/",
           .guard = leadership_->guard,
           .keep = options_.keep}};
}

std::pair<std::int64_t, Cut> Cuts::newest(bool fresh, const Whole& whole) {
  if (options_.folder.empty()) return {};
  checkpoint::Catalog all = catalog();
  std::vector<checkpoint::Committed> list = all.list();
  if (!list.empty() && fresh && !options_.resume) {
    // Those of a job that came to its end are nobody's any more.
    if (!cut_of(all.manifest(list.front()).cut).over) {
      fail_usage(options_.folder +
                 " has checkpoints of a run that was not finished\n  hint   [distributed] resume = "
                 "true goes on with them; else remove the folder");
    }
    all.rewind(0);
    list.clear();
  }
  std::string reasons;
  for (const checkpoint::Committed& one : list) {
    try {
      Cut cut = cut_of(all.manifest(one).cut);
      if (whole(all, one.id, cut)) {
        if (one.id != list.front().id) all.rewind(one.id);
        return {one.id, std::move(cut)};
      }
    } catch (const checkpoint::Damaged& error) {
      say(error.what());
    }
    reasons += fmt::format(" {}", one.id);
  }
  if (!list.empty()) fail_data("all checkpoints are damaged:" + reasons);
  return {};
}

bool Cuts::due() const {
  if (master_.all_over()) return true;
  return !options_.folder.empty() && (draining_ || Clock::now() >= next_);
}

void Cuts::look(std::uint32_t rollbacks, const Save& save) {
  if (!due()) return;
  if (options_.folder.empty()) return master_.conclude();
  if (!draining_) {
    draining_ = Clock::now();
    master_.drain();
  }
  const bool over = master_.all_over();  // before: the last checkpoint says so
  const std::optional<QueueState> queue = master_.state_at_rest();
  try {
    if (queue && save(*queue, over)) {
      if (over) master_.conclude();
      return go_on(rollbacks);
    }
    if (Clock::now() - *draining_ < kDrain) return;
    throw Unavailable(queue
                          ? "not all who hold what was learned have said that they have written it"
                          : "tasks are pending for too long");
  } catch (const Unavailable& error) {
    fail(error);
  } catch (const Deposed&) {
    throw;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) throw;
    fail(error);
  }
  go_on(rollbacks);
}

void Cuts::fail(const Error& error) {
  say(std::string("no checkpoint: ") + error.what());
  if (options_.not_saved) options_.not_saved();
}

void Cuts::drop() {
  draining_.reset();
  master_.pause();
}

void Cuts::go_on(std::uint32_t rollbacks) {
  draining_.reset();
  next_ = Clock::now() + every();
  master_.go_on(rollbacks);
}

void Cuts::done(std::int64_t id, std::uint64_t bytes, double seconds) {
  say(fmt::format("checkpoint {}: {:.1f} MB in {:.2f} s", id, static_cast<double>(bytes) / 1e6,
                  seconds));
  if (options_.saved) options_.saved(id, seconds, bytes);
}

}  // namespace trireme::distributed
