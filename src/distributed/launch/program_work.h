#pragma once

// The work of a job whose trainers are a program of the user: the first trainer writes it under the
// key "work", and the master and the parameter servers wait for it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "distributed/coordination/store.h"
#include "trireme/job.h"

namespace trireme::distributed {

struct ProgramWork {
  std::int64_t batches = 0, epochs = 1;  // batches of an epoch
  std::int64_t max_steps = 0;            // of one process that does it all; 0: those of all epochs
  std::string checkpoints;               // these as ServerFolders
  std::string cold_rows = {};
  std::string exports = {};  // as in MasterWork, even if none are made
  Distribution how;          // without options of tables, which trainers declare

  template <class Visitor>
  void fields(Visitor& visit) {
    visit("batches", batches);
    visit("epochs", epochs);
    visit("max_steps", max_steps);
    visit("checkpoints", checkpoints);
    visit("cold_rows", cold_rows);
    visit("exports", exports);
    visit("mode", how.mode);
    visit("task_batches", how.task_batches);
    visit("staleness", how.staleness);
    visit("checkpoint_seconds", how.checkpoint_seconds);
    visit("checkpoint_keep", how.checkpoint_keep);
    visit("resume", how.resume);
    visit("unused_for", how.eviction.unused_for);
    visit("below", how.eviction.below);
    visit("show_weight", how.eviction.show_weight);
    visit("click_weight", how.eviction.click_weight);
    visit("tick_tasks", how.eviction.tick_tasks);
    visit("export_seconds", how.export_seconds);
    visit("export_deltas", how.export_deltas);
  }
};
std::string text_of(const ProgramWork& work);
// Errors: data.
ProgramWork program_work_of(const std::string& text);

inline std::string work_key(const std::string& prefix) { return prefix + "work"; }
// Errors: usage if another process has written other work; as Store.
void announce_work(Store& store, const std::string& prefix, const ProgramWork& work);
// Waits for the work; returns nothing when `stop` returns true. Errors: io after ten minutes.
std::optional<ProgramWork> await_work(Store& store, const std::string& prefix,
                                      const std::function<bool()>& stop);

}  // namespace trireme::distributed
