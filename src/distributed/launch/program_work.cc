#include "distributed/launch/program_work.h"

#include "base/error.h"
#include "distributed/coordination/key_watcher.h"
#include "distributed/coordination/message.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kStopCallPoll{50};        // between two calls of `stop`
constexpr Milliseconds kProgramTimeout{600000};  // a program may have much work before it trains

}  // namespace

std::string text_of(const ProgramWork& work) { return encode(work); }

ProgramWork program_work_of(const std::string& text) {
  const std::string what = "the job's key \"work\" with the value \"" + text + "\"";
  ProgramWork work = decode<ProgramWork>(text, what);
  if (work.how.mode > Distribution::Mode::geo || work.batches < 1 || work.epochs < 1 ||
      work.how.task_batches < 1 || work.how.eviction.tick_tasks < 0) {
    fail_data(what + " is not valid: a number is out of range");
  }
  return work;
}

void announce_work(Store& store, const std::string& prefix, const ProgramWork& work) {
  const std::string key = work_key(prefix), text = text_of(work);
  const Outcome outcome =
      store.commit({.when = {absent(key)}, .then = {Put{key, text}}, .otherwise = {Get{key}}});
  if (outcome.succeeded) return;
  const std::string& first = outcome.got.at(0).at(0).value;
  if (first == text) return;
  fail_usage("the processes of this job publish different work: this one " + text +
             ", another one " + first +
             "\n  hint   data, epochs and options must not depend on the process");
}

std::optional<ProgramWork> await_work(Store& store, const std::string& prefix,
                                      const std::function<bool()>& stop) {
  const auto until = std::chrono::steady_clock::now() + kProgramTimeout;
  KeyWatcher work(store, work_key(prefix));
  while (!stop || !stop()) {
    if (const std::optional<Entry> entry = work.get(work_key(prefix))) {
      return program_work_of(entry->value);
    }
    if (std::chrono::steady_clock::now() > until) {
      fail_io(
          "no trainer has published its work within ten minutes\n  hint   the program "
          "calls "
          "Member::train() (trireme/distributed.h)");
    }
    work.check();
    work.wait(kStopCallPoll);
  }
  return std::nullopt;
}

}  // namespace trireme::distributed
