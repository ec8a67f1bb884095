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
