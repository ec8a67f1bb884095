#include "session/job/distribution.h"

#include <variant>

#include "session/job/field_reader.h"
#include "session/job/model.h"
#include "session/job/tables.h"

namespace trireme::job {
namespace {

using Mode = Distribution::Mode;

constexpr std::int64_t kMany = 1'000'000;

// A rule that holds, and what is said of a key where it does not.
struct Rule {
  bool holds;
  const char* key;
  const char* text;
};

// The first of the rules that does not hold.
std::optional<WrongSetting> broken(const std::vector<Rule>& rules) {
  for (const Rule& rule : rules) {
    if (!rule.holds) return WrongSetting{rule.key, rule.text};
  }
  return std::nullopt;
}

constexpr const char* kOfServers =
    "is of parameter servers, which mode = \"all_reduce\" has none of";

bool between(double value, double min, double max) { return value >= min && value <= max; }

std::optional<WrongSetting> wrong_in(const Distribution::Eviction& how) {
  const bool by_score = how.below > 0;
  return broken({
      {how.unused_for >= 0 && how.unused_for <= 65534, "eviction.unused_for",
       "must be 0 to 65,534"},
      {between(how.below, 0, 1e30), "eviction.below", "must not be negative"},
      {between(how.show_weight, 0, 1e30), "eviction.show_weight", "must not be negative"},
      {between(how.click_weight, 0, 1e30), "eviction.click_weight", "must not be negative"},
      {how.decay > 0 && how.decay <= 1, "eviction.decay", "must be above 0, and at most 1"},
      {how.tick_tasks >= 0, "eviction.tick_tasks", "must not be negative"},
      {by_score || how.decay == 1, "eviction.decay",
       "is of scores: set eviction.below, or leave it out"},
      {by_score || how.clicks.empty(), "eviction.clicks",
       "is of scores: set eviction.below, or leave it out"},
      {how.click_weight == 0 || !how.clicks.empty(), "eviction.click_weight",
       "needs eviction.clicks: the input that is 1 for examples that are clicks"},
      {!by_score || how.show_weight + how.click_weight > 0, "eviction.below",
       "is of a score that is 0 for all rows: show_weight and click_weight are both 0"},
  });
}

// The node of a key as of WrongSetting; the table itself for one that was left out.
const Node& node_of(const Node& table, const std::string& key) {
  const std::size_t dot = key.find('.');
  const Node* const found = table.find(key.substr(0, dot));
  if (found == nullptr) return table;
  return dot == std::string::npos ? *found : node_of(*found, key.substr(dot + 1));
}

}  // namespace

std::optional<WrongSetting> wrong_setting(const Distribution& how) {
  const bool servers = how.mode != Mode::all_reduce;
  const auto wrong = broken({
      {how.task_batches >= 1, "task_batches", "must be at least 1"},
      {how.staleness >= 0 && how.staleness <= kMany, "staleness", "must be 0 to 1,000,000"},
      {how.staleness == 0 || how.mode == Mode::asynchronous, "staleness",
       "is of mode = \"asynchronous\": in the others no trainer is ahead by a step"},
      {!how.prefetch || how.mode == Mode::asynchronous || how.mode == Mode::geo, "prefetch",
       "is of mode = \"asynchronous\" and \"geo\": in the others a step reads nothing that is "
       "older"},
      {how.admission >= 1 && how.admission <= 65535, "admission", "must be 1 to 65,535"},
      {servers || how.admission == 1, "admission", kOfServers},
      {how.memory_limit >= 0, "memory_limit", "must not be negative"},
      {servers || how.memory_limit == 0, "memory_limit", kOfServers},
      {servers || how.cold_rows.empty(), "cold_rows", kOfServers},
      {servers || !how.float16, "float16", kOfServers},
      {servers || (how.eviction.unused_for == 0 && how.eviction.below == 0), "eviction",
       kOfServers},
      {between(how.checkpoint_seconds, 0, kMany), "checkpoint_seconds", "must be 0 to 1,000,000"},
      {how.checkpoint_keep >= 1 && how.checkpoint_keep <= kMany, "checkpoint_keep",
       "must be 1 to 1,000,000"},
      {!how.resume || how.checkpoint_seconds > 0, "resume",
       "needs the checkpoints that checkpoint_seconds = 0 does without"},
      {between(how.export_seconds, 0, kMany), "export_seconds", "must be 0 to 1,000,000"},
      {how.export_deltas >= 0 && how.export_deltas <= kMany, "export_deltas",
       "must be 0 to 1,000,000"},
      {how.export_seconds == 0 || how.mode != Mode::all_reduce, "export_seconds",
       "is of modes with servers, since it is their tables that are exported\n  hint   leave it "
       "out: "
       "mode all_reduce saves its whole model at the end"},
      {how.export_seconds == 0 || how.checkpoint_seconds > 0, "export_seconds",
       "needs checkpoint_seconds above 0, since exports are made with checkpoints\n  hint   set "
       "checkpoint_seconds to at most as much"},
  });
  return wrong ? wrong : wrong_in(how.eviction);
}

Distribution read_distribution(const Node& node) {
  Table table(node);
  Distribution distribution;
  FieldReader reader(table);
  fields(reader, distribution);
  if (distribution.mode != Mode::all_reduce) server_fields(reader, distribution);
  const Node* eviction = distribution.mode != Mode::all_reduce ? table.node("eviction") : nullptr;
  if (eviction != nullptr) {
    Table keys(*eviction);
    FieldReader read_keys(keys);
    fields(read_keys, distribution.eviction);
    keys.done();
  }
  table.done();
  if (const auto wrong = wrong_setting(distribution)) {
    fail_at(node_of(node, wrong->key), wrong->text);
  }
  return distribution;
}

namespace {

const Schedule& schedule_of(const Optimizer& optimizer) {
  return std::visit([](const auto& rule) -> const Schedule& { return rule.learning_rate; },
                    optimizer);
}

bool has_amsgrad(const Optimizer& optimizer) {
  const auto* adam = std::get_if<Adam>(&optimizer);
  return adam != nullptr && adam->amsgrad;
}

bool on_servers(const Optimizer& optimizer) {
  return std::holds_alternative<Sgd>(optimizer) || std::holds_alternative<Adagrad>(optimizer) ||
         std::holds_alternative<Adam>(optimizer) || std::holds_alternative<Ftrl>(optimizer);
}

}  // namespace

std::optional<WrongSetting> wrong_training(Mode mode, const Optimizer& optimizer,
                                           const UpdateOptions& updates) {
  const bool servers = mode != Mode::all_reduce;
  const Clip limits = std::visit([](const auto& rule) { return rule.clip; }, optimizer);
  return broken({
      {!schedule_of(optimizer).plateau, "schedule",
       "goes by what is measured after each epoch, and many processes measure nothing before the "
       "end\n  hint   take one that goes by steps, such as \"cosine\" or \"step_decay\""},
      {!servers || on_servers(optimizer), "optimizer",
       "is none of parameter servers, which have sgd, adagrad, adam and ftrl alone\n  hint   one "
       "of these, or mode = \"all_reduce\""},
      {!servers || !has_amsgrad(optimizer), "optimizer",
       "has amsgrad, which parameter servers do not have\n  hint   amsgrad = false, or mode = "
       "\"all_reduce\""},
      {!servers || updates.accumulate <= 1, "accumulate",
       "is not for parameter servers, which change parameters by every gradient\n  hint   a larger "
       "batch, or mode = \"all_reduce\""},
      {!servers || updates.average.kind == Average::Kind::none, "average",
       "is not for parameter servers, which keep no averages\n  hint   mode = \"all_reduce\""},
      {mode != Mode::synchronous || !limits.any(), "clip",
       "would be of the sum of all processes' gradients, of which each server has a part alone\n"
       "  hint   mode = \"all_reduce\"; \"asynchronous\" and \"geo\" limit the gradients of each "
       "batch"},
  });
}

void check_distributed(const Node& root, const Settings& settings) {
  const auto refuse = [&](bool holds, const char* key, const std::string& text) {
    if (holds) fail_at(node_of(root, key), text);
  };
  const Mode mode = settings.distribution.mode;
  const std::string ends =
      "many processes measure nothing before the end\n  hint   trireme train, or leave it out";
  refuse(settings.epochs == 0, "train.epochs", "must be at least 1 for many processes");
  refuse(!settings.early_stopping.watch.metric.empty(), "train.early_stopping",
         "stops by what is measured while training goes on, and " + ends);
  refuse(!settings.checkpoint.best.metric.empty(), "checkpoint.best",
         "is found by what is measured while training goes on, and " + ends);
  refuse(settings.model->find("from") != nullptr && mode != Mode::all_reduce, "model.from",
         "is not for parameter servers, which initialize their rows themselves\n  hint   mode = "
         "\"all_reduce\"");
  const auto wrong =
      wrong_training(mode, read_optimizer(settings, /*steps_per_epoch=*/1), read_updates(settings));
  if (wrong) fail_at(node_of(root, "train." + wrong->key), wrong->text);
}

std::vector<std::string> unused_distributed(const Node& root, const Settings& settings) {
  std::vector<std::string> unused;
  const auto add = [&](bool holds, const char* key) {
    if (holds) unused.push_back(std::string(key) + " (" + node_of(root, key).where() + ")");
  };
  add(settings.data.workers > 1, "data.workers");
  add(settings.evaluate_every > 0, "train.evaluate_every");
  add(!settings.output.run.empty(), "output.run");
  add(root.find("checkpoint") != nullptr, "checkpoint");
  return unused;
}

}  // namespace trireme::job
