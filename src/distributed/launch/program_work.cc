#include "distributed/launch/program_work.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"

namespace trireme::distributed {
namespace {

using Json = nlohmann::ordered_json;

constexpr Milliseconds kProgramPoll{50};
constexpr Milliseconds kProgramTimeout{600000};  // a program may have much work before it trains

Json eviction_json(const Distribution::Eviction& how) {
  return {{"unused_for", how.unused_for},
          {"below", how.below},
          {"show_weight", how.show_weight},
          {"click_weight", how.click_weight},
          {"tick_tasks", how.tick_tasks}};
}

Distribution::Eviction eviction_of(const Json& json) {
  Distribution::Eviction how;
  how.unused_for = json.at("unused_for").get<std::int64_t>();
  how.below = json.at("below").get<double>();
  how.show_weight = json.at("show_weight").get<double>();
  how.click_weight = json.at("click_weight").get<double>();
  how.tick_tasks = json.at("tick_tasks").get<std::int64_t>();
  return how;
}

}  // namespace

std::string text_of(const ProgramWork& work) {
  return Json{{"batches", work.batches},
              {"epochs", work.epochs},
              {"max_steps", work.max_steps},
              {"checkpoints", work.checkpoints},
              {"cold_rows", work.cold_rows},
              {"exports", work.exports},
              {"mode", static_cast<int>(work.how.mode)},
              {"task_batches", work.how.task_batches},
              {"staleness", work.how.staleness},
              {"checkpoint_seconds", work.how.checkpoint_seconds},
              {"checkpoint_keep", work.how.checkpoint_keep},
              {"resume", work.how.resume},
              {"eviction", eviction_json(work.how.eviction)},
              {"export_seconds", work.how.export_seconds},
              {"export_deltas", work.how.export_deltas}}
      .dump();
}

ProgramWork program_work_of(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    ProgramWork work;
    work.batches = json.at("batches").get<std::int64_t>();
    work.epochs = json.at("epochs").get<std::int64_t>();
    work.max_steps = json.at("max_steps").get<std::int64_t>();
    work.checkpoints = json.at("checkpoints").get<std::string>();
    work.cold_rows = json.at("cold_rows").get<std::string>();
    work.exports = json.at("exports").get<std::string>();
    work.how.task_batches = json.at("task_batches").get<std::int64_t>();
    work.how.staleness = json.at("staleness").get<std::int64_t>();
    work.how.checkpoint_seconds = json.at("checkpoint_seconds").get<double>();
    work.how.checkpoint_keep = json.at("checkpoint_keep").get<std::int64_t>();
    work.how.resume = json.at("resume").get<bool>();
    work.how.eviction = eviction_of(json.at("eviction"));
    work.how.export_seconds = json.at("export_seconds").get<double>();
    work.how.export_deltas = json.at("export_deltas").get<std::int64_t>();
    const int mode = json.at("mode").get<int>();
    if (mode < 0 || mode > static_cast<int>(Distribution::Mode::geo) || work.batches < 1 ||
        work.epochs < 1 || work.how.task_batches < 1 || work.how.eviction.tick_tasks < 0) {
      fail_data("numbers that make no sense");
    }
    work.how.mode = static_cast<Distribution::Mode>(mode);
    return work;
  } catch (const std::exception& error) {
    fail_data("the job's key \"work\" is \"" + text + "\": " + error.what());
  }
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
  while (!stop || !stop()) {
    try {
      if (const std::optional<Entry> entry = store.get(work_key(prefix))) {
        return program_work_of(entry->value);
      }
    } catch (const Unavailable&) {  // it may return
    }
    if (std::chrono::steady_clock::now() > until) {
      fail_io(
          "no trainer has published its work within ten minutes\n  hint   the program "
          "calls "
          "Member::train() (trireme/distributed.h)");
    }
    std::this_thread::sleep_for(kProgramPoll);
  }
  return std::nullopt;
}

}  // namespace trireme::distributed
