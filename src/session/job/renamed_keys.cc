#include "session/job/renamed_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace trireme::job {
namespace {

struct Renamed {
  // The table of the key, or the list of the word, with new names and without indices.
  const char* place;
  const char* old_name;
  const char* new_name;
};

constexpr Renamed kRenamed[] = {
    {"data.train", "made_clicks", "synthetic_clicks"},
    {"data.test", "made_clicks", "synthetic_clicks"},
    {"data.validation", "made_clicks", "synthetic_clicks"},
    {"data.train", "standardise", "standardize"},
    {"data.test", "standardise", "standardize"},
    {"data.validation", "standardise", "standardize"},
    {"data.text", "most", "max_tokens"},
    {"data.augment", "colour_jitter", "color_jitter"},
    {"model", "normalise", "normalize"},
    {"model.normalize", "deviation", "stddev"},
    {"model", "most_steps", "max_steps"},
    {"model", "most_distance", "max_distance"},
    {"model.layers.embedding", "rows", "num_embeddings"},
    {"model.layers.embedding", "width", "dim"},
    {"model.layers.embedding", "deviation", "stddev"},
    {"model.layers.avg_pool", "count_padding", "count_include_pad"},
    {"model.layers.learned_positions", "most_steps", "max_steps"},
    {"train.optimizer.rmsprop", "centred", "centered"},
    {"train.schedule.plateau", "least", "min_factor"},
    {"train.metrics", "top_k", "top_k_accuracy"},
};

class Renamer {
 public:
  void visit(Node& node, const std::string& place) {
    if (node.kind == Node::Kind::text) return rename(node, node.text, place);
    for (Node& item : node.items) visit(item, place);
    for (Node& member : node.members) {
      rename(member, member.key, place);
      visit(member, place.empty() ? member.key : place + "." + member.key);
    }
    refuse_both(node);
  }

  std::vector<std::string> warnings;

 private:
  void rename(const Node& node, std::string& name, const std::string& place) {
    const auto found = std::find_if(
        std::begin(kRenamed), std::end(kRenamed),
        [&](const Renamed& renamed) { return renamed.place == place && renamed.old_name == name; });
    if (found == std::end(kRenamed)) return;
    name = found->new_name;
    if (!warned_.insert(found).second) return;
    warnings.push_back(fmt::format("{}: {}: \"{}\" is an old name; use \"{}\"", node.where(),
                                   node.path, found->old_name, found->new_name));
  }

  static void refuse_both(const Node& table) {
    for (auto a = table.members.begin(); a != table.members.end(); ++a) {
      for (auto b = std::next(a); b != table.members.end(); ++b) {
        if (a->key != b->key) continue;
        fail_at(*b, fmt::format("is set a second time: {} at {} is the same setting; remove one",
                                a->path, a->where()));
      }
    }
  }

  std::set<const Renamed*> warned_;
};

}  // namespace

std::vector<std::string> use_new_keys(Node& node, const std::string& place) {
  Renamer renamer;
  renamer.visit(node, place);
  return std::move(renamer.warnings);
}

}  // namespace trireme::job
