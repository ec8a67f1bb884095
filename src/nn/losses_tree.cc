// The hierarchical softmax and its class trees.

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <string>
#include <utility>

#include "base/error.h"
#include "nn/losses.h"
#include "trireme/functions.h"
#include "trireme/nn.h"

namespace trireme::nn {
namespace {

// The inner nodes on the path to each example's class, negative after its end, and the branches.
struct ClassPath {
  Value path, code;  // i64[batch, depth]
};

// A complete tree. The classes are leaves n ... 2n - 1 of a heap whose root is 1 and in which node
// i has children 2i and 2i + 1. Inner node i is row i - 1. Above the root all nodes are 0.
ClassPath complete_tree_path(const Value& label, std::int64_t classes) {
  std::vector<Value> path, code;
  Value node = label + static_cast<double>(classes);
  for (std::int64_t reach = 2 * classes - 1; reach > 1; reach /= 2) {
    const Value parent = node / 2.0;
    code.push_back(node - parent * 2.0);
    path.push_back(parent - 1.0);
    node = parent;
  }
  return {stack(path, 1), stack(code, 1)};
}

ClassPath given_tree_path(Layer& layer, const Value& label,
                          const HierarchicalSoftmaxOptions& options) {
  layer.require(options.path && options.code, "a tree needs both path and code");
  layer.require(options.path.dtype() == DType::i64 && options.path.rank() == 2 &&
                    options.code.dtype() == DType::i64 &&
                    options.code.shape() == options.path.shape(),
                "path and code must be i64[classes, depth], but are " + options.path.str() +
                    " and " + options.code.str());
  const Value checked = checked_labels(label, options.path.dim(0));
  return {gather(options.path, checked), gather(options.code, checked)};
}

}  // namespace

// -log sigmoid(z) for branch 1 and -log sigmoid(-z) for branch 0 are softplus((1 - 2 branch) z).
Value hierarchical_softmax(const Value& hidden, const Value& label, const Value& weight,
                           const Value& bias, HierarchicalSoftmaxOptions options,
                           SourceLocation where) {
  Layer layer(hidden, "hierarchical_softmax", "", where);
  const std::int64_t nodes =
      require_table(layer, hidden, label, weight, bias, {"inner nodes", "nodes"});
  layer.require(nodes >= 1, "there must be at least one inner node");
  const ClassPath class_path =
      options.path || options.code
          ? given_tree_path(layer, label, options)
          : complete_tree_path(checked_labels(label, nodes + 1), nodes + 1);
  const Value nodes_on_path = maximum(class_path.path, 0.0);
  Value z = sum(gather(weight, nodes_on_path) * unsqueeze(hidden, 1), {.axes = {2}});
  if (bias) z = z + gather(bias, nodes_on_path);
  const Value terms =
      softplus((1.0 - cast(class_path.code, {.dtype = z.dtype()}) * 2.0) * z, where);
  return sum(trireme::where(0.0 <= class_path.path, terms, 0.0), {.axes = {1}});
}

ClassTree huffman_tree(const std::vector<double>& frequencies) {
  const std::size_t classes = frequencies.size();
  if (classes < 2) fail_usage("huffman_tree: there must be at least two classes");
  // Nodes: first the classes, then the inner nodes in the order of creation, the root last.
  using Item = std::pair<double, std::size_t>;
  std::priority_queue<Item, std::vector<Item>, std::greater<Item>> rarest;
  for (std::size_t i = 0; i < classes; ++i) {
    if (!(frequencies[i] >= 0) || !std::isfinite(frequencies[i])) {
      fail_usage("huffman_tree: the frequency of class " + std::to_string(i) +
                 " is negative or not finite");
    }
    rarest.emplace(frequencies[i], i);
  }
  std::vector<std::size_t> parent(2 * classes - 1);
  std::vector<std::int64_t> branch(2 * classes - 1);
  for (std::size_t inner = classes; inner < parent.size(); ++inner) {
    double sum = 0;
    for (const std::int64_t side : {0, 1}) {
      const auto [frequency, node] = rarest.top();
      rarest.pop();
      parent[node] = inner;
      branch[node] = side;
      sum += frequency;
    }
    rarest.emplace(sum, inner);
  }

  const std::size_t root = parent.size() - 1;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> paths(classes);  // root first
  std::size_t depth = 0;
  for (std::size_t i = 0; i < classes; ++i) {
    for (std::size_t node = i; node != root; node = parent[node]) {
      paths[i].emplace_back(static_cast<std::int64_t>(parent[node] - classes), branch[node]);
    }
    std::reverse(paths[i].begin(), paths[i].end());
    depth = std::max(depth, paths[i].size());
  }
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(classes),
                                           static_cast<std::int64_t>(depth)};
  ClassTree tree{Tensor(i64, shape), Tensor(i64, shape), static_cast<std::int64_t>(classes - 1)};
  std::fill_n(tree.path.data<std::int64_t>(), classes * depth, std::int64_t{-1});
  for (std::size_t i = 0; i < classes; ++i) {
    for (std::size_t j = 0; j < paths[i].size(); ++j) {
      tree.path.data<std::int64_t>()[i * depth + j] = paths[i][j].first;
      tree.code.data<std::int64_t>()[i * depth + j] = paths[i][j].second;
    }
  }
  return tree;
}

}  // namespace trireme::nn
