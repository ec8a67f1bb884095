// Ensembles of decision trees: the domain ai.onnx.ml.
//
// All trees go down one level at a time: for each row and tree a node, which is replaced by one of
// its children. A leaf is its own child. Nodes of all trees are numbered together.

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "onnx/importer.h"
#include "onnx/ops/classic.h"
#include "onnx/ops/operators.h"
#include "onnx/tensor.h"
#include "trireme/control.h"
#include "trireme/functions.h"
#include "trireme/indexing.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

using Numbers = std::vector<double>;

enum class Mode { leq, lt, gte, gt, eq, neq, member, leaf };

struct TreeNode {
  Mode mode = Mode::leaf;
  double feature = 0, value = 0;
  bool missing_is_true = false;  // NaN goes to `yes`
  std::int64_t yes = 0, no = 0;  // a leaf: itself
};

struct Weight {
  std::int64_t node, target;
  double value;
};

struct Trees {
  std::vector<TreeNode> nodes;
  std::vector<std::int64_t> roots;
  std::vector<Weight> weights;  // of leaves
  std::int64_t targets = 1;
};

std::int64_t number_of(std::size_t size) { return static_cast<std::int64_t>(size); }

double element(const Numbers& numbers, std::size_t i, double otherwise) {
  return i < numbers.size() ? numbers[i] : otherwise;
}

// --- Reading -----------------------------------------------------------------------------------

Mode mode_of(NodeContext& n, const std::string& name) {
  static const std::map<std::string, Mode> modes = {
      {"BRANCH_LEQ", Mode::leq}, {"BRANCH_LT", Mode::lt}, {"BRANCH_GTE", Mode::gte},
      {"BRANCH_GT", Mode::gt},   {"BRANCH_EQ", Mode::eq}, {"BRANCH_NEQ", Mode::neq},
      {"LEAF", Mode::leaf}};
  const auto found = modes.find(name);
  n.require(found != modes.end(), "a node has the mode \"" + name + "\"");
  return found->second;
}

using Places = std::map<std::pair<double, double>, std::int64_t>;  // of {tree, node}

std::int64_t place_of(NodeContext& n, const Places& places, double tree, double node) {
  const auto found = places.find({tree, node});
  n.require(found != places.end(), "a tree names a node that it does not have");
  return found->second;
}

// TreeEnsembleClassifier and TreeEnsembleRegressor. `stem` is "class" or "target".
Trees trees_by_ids(NodeContext& n, const std::string& stem) {
  const Numbers tree = attribute_numbers(n, "nodes_treeids");
  const Numbers id = attribute_numbers(n, "nodes_nodeids");
  const Numbers feature = attribute_numbers(n, "nodes_featureids");
  const Numbers value = attribute_numbers(n, "nodes_values");
  const Numbers yes = attribute_numbers(n, "nodes_truenodeids");
  const Numbers no = attribute_numbers(n, "nodes_falsenodeids");
  const Numbers missing = attribute_numbers(n, "nodes_missing_value_tracks_true");
  const AttributeProto* modes = n.attribute("nodes_modes");
  const std::size_t count = tree.size();
  n.require(modes != nullptr && modes->strings_.size() == count && id.size() == count &&
                feature.size() == count && value.size() == count && yes.size() == count &&
                no.size() == count,
            "its lists of nodes have different lengths");
  Places places;
  for (std::size_t i = 0; i < count; ++i) places[{tree[i], id[i]}] = number_of(i);
  Trees trees;
  std::vector<bool> is_child(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    TreeNode node{mode_of(n, modes->strings_[i]), feature[i],   value[i],
                  element(missing, i, 0) != 0,    number_of(i), number_of(i)};
    if (node.mode != Mode::leaf) {
      node.yes = place_of(n, places, tree[i], yes[i]);
      node.no = place_of(n, places, tree[i], no[i]);
      is_child[static_cast<std::size_t>(node.yes)] = true;
      is_child[static_cast<std::size_t>(node.no)] = true;
    }
    trees.nodes.push_back(node);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_child[i]) trees.roots.push_back(number_of(i));
  }
  const Numbers weight = attribute_numbers(n, stem + "_weights");
  const Numbers of_tree = attribute_numbers(n, stem + "_treeids");
  const Numbers of_node = attribute_numbers(n, stem + "_nodeids");
  const Numbers target = attribute_numbers(n, stem + "_ids");
  n.require(of_tree.size() == weight.size() && of_node.size() == weight.size() &&
                target.size() == weight.size(),
            "its lists of weights have different lengths");
  for (std::size_t i = 0; i < weight.size(); ++i) {
    trees.weights.push_back({place_of(n, places, of_tree[i], of_node[i]),
                             static_cast<std::int64_t>(target[i]), weight[i]});
  }
  return trees;
}

// Reads a TreeEnsemble: its inner nodes, followed by its leaves.
class EnsembleReader {
 public:
  explicit EnsembleReader(NodeContext& n)
      : n_(n),
        feature_(attribute_numbers(n, "nodes_featureids")),
        split_(attribute_numbers(n, "nodes_splits")),
        mode_(attribute_numbers(n, "nodes_modes")),
        yes_(attribute_numbers(n, "nodes_truenodeids")),
        no_(attribute_numbers(n, "nodes_falsenodeids")),
        yes_is_leaf_(attribute_numbers(n, "nodes_trueleafs")),
        no_is_leaf_(attribute_numbers(n, "nodes_falseleafs")),
        missing_(attribute_numbers(n, "nodes_missing_value_tracks_true")) {}

  Trees read() {
    const std::size_t count = feature_.size();
    n_.require(split_.size() == count && mode_.size() == count && yes_.size() == count &&
                   no_.size() == count && yes_is_leaf_.size() == count &&
                   no_is_leaf_.size() == count,
               "its lists of nodes have different lengths");
    const Numbers target = attribute_numbers(n_, "leaf_targetids");
    const Numbers weight = attribute_numbers(n_, "leaf_weights");
    n_.require(target.size() == weight.size(), "its lists of leaves have different lengths");
    leaves_ = weight.size();
    trees_.nodes.resize(count + leaves_);
    for (std::size_t i = 0; i < leaves_; ++i) {
      const std::int64_t place = number_of(count + i);
      trees_.nodes[count + i] = {.yes = place, .no = place};
      trees_.weights.push_back({place, static_cast<std::int64_t>(target[i]), weight[i]});
    }
    for (std::size_t i = 0; i < count; ++i) {
      const bool missing = element(missing_, i, 0) != 0;
      n_.require(mode_[i] >= 0 && mode_[i] <= 6, "a node has an unknown mode");
      trees_.nodes[i] = {static_cast<Mode>(static_cast<int>(mode_[i])),
                         feature_[i],
                         split_[i],
                         missing,
                         child(yes_[i], yes_is_leaf_[i]),
                         child(no_[i], no_is_leaf_[i])};
    }
    for (const double root : attribute_numbers(n_, "tree_roots")) {
      // A tree of one leaf has a node whose children are the same leaf.
      trees_.roots.push_back(child(root, 0));
    }
    expand_members(count);
    return std::move(trees_);
  }

 private:
  std::int64_t child(double index, double is_leaf) const {
    const std::size_t size = is_leaf != 0 ? leaves_ : feature_.size();
    n_.require(index >= 0 && index < static_cast<double>(size),
               "a tree names a node that it does not have");
    return static_cast<std::int64_t>(index) + (is_leaf != 0 ? number_of(feature_.size()) : 0);
  }

  // A node that asks for members of a set becomes one for each member: equal, or else the next. The
  // members of the nodes follow each other, with a NaN after each set.
  void expand_members(std::size_t count) {
    const Numbers members = attribute_numbers(n_, "membership_values");
    std::size_t next = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (trees_.nodes[i].mode != Mode::member) continue;
      const TreeNode node = trees_.nodes[i];
      Numbers set;
      for (; next < members.size() && members[next] == members[next]; ++next)
        set.push_back(members[next]);
      ++next;
      n_.require(!set.empty(), "a set of members is empty");
      std::size_t place = i;
      for (std::size_t k = 0; k < set.size(); ++k) {
        const bool last = k + 1 == set.size();
        const std::size_t other = trees_.nodes.size();
        TreeNode one = node;
        one.mode = Mode::eq;
        one.value = set[k];
        one.no = last ? node.no : number_of(other);
        trees_.nodes[place] = one;
        if (!last) trees_.nodes.emplace_back();
        place = other;
      }
    }
  }

  NodeContext& n_;
  Numbers feature_, split_, mode_, yes_, no_, yes_is_leaf_, no_is_leaf_, missing_;
  std::size_t leaves_ = 0;
  Trees trees_;
};

// The number of levels below the roots. Fails if a node is below itself.
std::int64_t depth_of(NodeContext& n, const Trees& trees) {
  constexpr std::int64_t kNew = -1, kOpen = -2;
  std::vector<std::int64_t> depth(trees.nodes.size(), kNew), stack = trees.roots;
  const auto at = [&](std::int64_t i) -> std::int64_t& {
    return depth[static_cast<std::size_t>(i)];
  };
  // A node is open while its children are computed, and is then seen again.
  while (!stack.empty()) {
    const std::int64_t i = stack.back();
    const TreeNode& node = trees.nodes[static_cast<std::size_t>(i)];
    if (node.mode == Mode::leaf) at(i) = 0;
    if (at(i) == kOpen) at(i) = 1 + std::max(at(node.yes), at(node.no));
    if (at(i) >= 0) {
      stack.pop_back();
      continue;
    }
    at(i) = kOpen;
    for (const std::int64_t child : {node.yes, node.no}) {
      n.require(at(child) != kOpen, "a node of a tree is below itself");
      if (at(child) == kNew) stack.push_back(child);
    }
  }
  std::int64_t most = 0;
  for (const std::int64_t root : trees.roots) most = std::max(most, at(root));
  return most;
}

// --- Values ------------------------------------------------------------------------------------

template <class Get>
Numbers numbers_of(const Trees& trees, Get get) {
  Numbers numbers;
  for (const TreeNode& node : trees.nodes) numbers.push_back(static_cast<double>(get(node)));
  return numbers;
}

// Whether rows go to `yes`: each mode that a node has is computed, and selected by the node.
Value goes_to_yes(const Value& x, const Value& value, const Value& mode, const Trees& trees) {
  Value result;
  for (const Mode one : {Mode::leq, Mode::lt, Mode::gte, Mode::gt, Mode::eq, Mode::neq}) {
    const bool has = std::any_of(trees.nodes.begin(), trees.nodes.end(),
                                 [&](const TreeNode& node) { return node.mode == one; });
    if (!has) continue;
    Value holds;
    switch (one) {
      case Mode::leq: holds = less_equal(x, value); break;
      case Mode::lt: holds = less(x, value); break;
      case Mode::gte: holds = less_equal(value, x); break;
      case Mode::gt: holds = less(value, x); break;
      case Mode::eq: holds = equal(x, value); break;
      default: holds = not_equal(x, value);
    }
    result = result ? where(equal(mode, static_cast<double>(one)), holds, result) : holds;
  }
  return result;
}

// The leaf of each row in each tree, i64[rows, trees].
Value leaves_of(NodeContext& n, const Value& x, const Trees& trees) {
  const std::int64_t count = number_of(trees.nodes.size());
  const auto column = [&](DType dtype, auto get) {
    return table(n, dtype, {count}, numbers_of(trees, get));
  };
  const Numbers roots(trees.roots.begin(), trees.roots.end());
  const Value start = broadcast_to(table(n, i64, {number_of(roots.size())}, roots),
                                   {x.dim(0), Dim(number_of(roots.size()))});
  const std::int64_t depth = depth_of(n, trees);
  if (depth == 0) return start;
  const Value feature = column(i64, [](const TreeNode& node) { return node.feature; });
  const Value value = column(x.dtype(), [](const TreeNode& node) { return node.value; });
  const Value mode = column(i64, [](const TreeNode& node) { return static_cast<int>(node.mode); });
  const Value yes = column(i64, [](const TreeNode& node) { return node.yes; });
  const Value no = column(i64, [](const TreeNode& node) { return node.no; });
  const Value missing = column(boolean, [](const TreeNode& node) { return node.missing_is_true; });
  const bool any_missing = std::any_of(trees.nodes.begin(), trees.nodes.end(),
                                       [](const TreeNode& node) { return node.missing_is_true; });
  const auto step = [&](const Values& carried, const Values&) {
    const Value& node = carried[0];
    const Value read = take_along_axis(x, gather(feature, node), {.axis = 1});
    Value goes = goes_to_yes(read, gather(value, node), gather(mode, node), trees);
    if (any_missing) goes = logical_or(goes, logical_and(is_nan(read), gather(missing, node)));
    return ScanStep{{where(goes, gather(yes, node), gather(no, node))}};
  };
  return scan({start}, {}, step, {.length = Dim(depth)}).carried[0];
}

enum class Aggregate { average, sum, min, max };

// The weights of the leaves of all trees together: [rows, targets]. In f64, so that a tie between
// classes stays one after rounding.
Value aggregated(NodeContext& n, const Value& x, const Trees& trees, Aggregate how) {
  for (const double feature : numbers_of(trees, [](const TreeNode& t) { return t.feature; })) {
    const bool inside =
        !x.dim(1).is_constant() || (feature >= 0 && feature < double(x.dim(1).constant()));
    n.require(inside, "a tree reads a column that its input does not have");
  }
  constexpr std::int64_t kMaxWeights = std::int64_t{1} << 28;
  n.require(trees.targets > 0 && trees.targets <= kMaxWeights / number_of(trees.nodes.size() + 1),
            "it has no targets, or too many for its nodes");
  const double absent = how == Aggregate::min   ? kInfinity
                        : how == Aggregate::max ? -kInfinity
                                                : 0.0;
  Numbers weights(trees.nodes.size() * static_cast<std::size_t>(trees.targets), absent);
  for (const Weight& weight : trees.weights) {
    n.require(weight.target >= 0 && weight.target < trees.targets,
              "a leaf has a weight of a target or class that there is not");
    double& to = weights[static_cast<std::size_t>(weight.node * trees.targets + weight.target)];
    to = to == absent ? weight.value : to + weight.value;
  }
  const Value all = table(n, f64, {number_of(trees.nodes.size()), trees.targets}, weights);
  const Value found = gather(all, leaves_of(n, x, trees));  // [rows, trees, targets]
  if (how == Aggregate::sum) return sum(found, {.axes = {1}});
  if (how == Aggregate::average) return mean(found, {.axes = {1}});
  const Value result =
      how == Aggregate::min ? reduce_min(found, {.axes = {1}}) : reduce_max(found, {.axes = {1}});
  return where(equal(result, absent), 0.0, result);
}

// Rounded to f32.
Value with_base_values(NodeContext& n, const Value& scores) {
  const Numbers base = attribute_numbers(n, "base_values");
  if (base.empty()) return cast(scores, f32);
  n.require(base.size() == 1 || scores.dim(1) == Dim(number_of(base.size())),
            "it has another number of base values");
  return cast(scores + table(n, f64, {number_of(base.size())}, base), f32);
}

Value rows_of(NodeContext& n) {
  const Value x = float_input(n, 0);
  n.require(x.rank() == 2, "its input has not rank 2");
  return x;
}

void import_tree_regressor(NodeContext& n) {
  static const std::map<std::string, Aggregate> names = {{"SUM", Aggregate::sum},
                                                         {"AVERAGE", Aggregate::average},
                                                         {"MIN", Aggregate::min},
                                                         {"MAX", Aggregate::max}};
  const auto how = names.find(n.text("aggregate_function", "SUM"));
  n.require(how != names.end(), "its aggregate_function is unknown");
  Trees trees = trees_by_ids(n, "target");
  trees.targets = n.integer("n_targets", 1);
  const Value scores = with_base_values(n, aggregated(n, rows_of(n), trees, how->second));
  n.set(0, post_transform(n, scores, n.text("post_transform", "NONE")));
}

void import_tree_ensemble(NodeContext& n) {
  constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const std::int64_t transform = n.integer("post_transform", 0);
  const std::int64_t how = n.integer("aggregate_function", 1);
  n.require(transform >= 0 && transform < 5 && how >= 0 && how < 4,
            "its post_transform or its aggregate_function is unknown");
  Trees trees = EnsembleReader(n).read();
  trees.targets = n.integer("n_targets", 1);
  const Value x = rows_of(n);
  const Value scores = aggregated(n, x, trees, static_cast<Aggregate>(how));
  n.set(0, post_transform(n, cast(scores, x.dtype()), kTransforms[transform]));
}

// Two classes, and weights of one of them only: a score of the second class. Without negative
// weights it is its probability. ONNX does not say so, but its producers and ONNX Runtime do.
void set_second_class(NodeContext& n, const Value& scores, const Trees& trees, std::int64_t id) {
  const std::string transform = n.text("post_transform", "NONE");
  const Value score =
      with_base_values(n, slice(scores, {.starts = {0, id}, .limits = {-1, id + 1}}));
  const bool is_probability = std::all_of(trees.weights.begin(), trees.weights.end(),
                                          [](const Weight& weight) { return weight.value >= 0; });
  const Value is_second = score > (is_probability ? 0.5 : 0.0);
  const Value index = cast(reshape(is_second, {.shape = {score.dim(0)}}), i64);
  Value both;
  if (transform == "LOGISTIC") both = sigmoid(concat({-score, score}, {.axis = 1}));
  else if (is_probability) both = concat({1.0 - score, score}, {.axis = 1});
  else both = concat({-score, score}, {.axis = 1});
  set_classes(n, index, both);
}

void import_tree_classifier(NodeContext& n) {
  Trees trees = trees_by_ids(n, "class");
  trees.targets = number_of(count_labels(n));
  n.require(trees.targets > 0 && !trees.weights.empty(), "it has no classes, or no leaves");
  const Value scores = aggregated(n, rows_of(n), trees, Aggregate::sum);
  const std::int64_t id = trees.weights[0].target;
  const bool of_one = std::all_of(trees.weights.begin(), trees.weights.end(),
                                  [&](const Weight& weight) { return weight.target == id; });
  if (trees.targets == 2 && of_one) return set_second_class(n, scores, trees, id);
  const Value all = with_base_values(n, scores);
  set_classes(n, argmax(all, {.axes = {1}}),
              post_transform(n, all, n.text("post_transform", "NONE")));
}

constexpr Operator kTreeOperators[] = {
    {kClassic, "TreeEnsemble", import_tree_ensemble},
    {kClassic, "TreeEnsembleClassifier", import_tree_classifier},
    {kClassic, "TreeEnsembleRegressor", import_tree_regressor},
};

}  // namespace

Operators tree_operators() { return kTreeOperators; }

}  // namespace trireme::onnx
