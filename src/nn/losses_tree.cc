// The hierarchical softmax and its trees.

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

// Inner nodes on the way to each example's class, below 0 where it has ended, and the branches.
struct Way {
  Value path, code;  // i64[batch, depth]
};

// A complete tree with the classes as leaves n ... 2n - 1 of a heap whose root is 1 and in which node
// i has children 2i and 2i + 1; inner node i is row i - 1. Below the root all nodes are 0.
Way complete_way(const Value& label, std::int64_t classes) {
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

Way table_way(Layer& layer, const Value& label, const HierarchicalSoftmaxOptions& options) {
  layer.require(options.path && options.code, "a tree needs both path and code");
  layer.require(options.path.dtype() == DType::i64 && options.path.rank() == 2 &&
                    options.code.dtype() == DType::i64 &&
                    options.code.shape() == options.path.shape(),
                "path and code must be i64[classes, depth], but are " + options.path.str() +
                    " and " + options.code.str());
  return {gather(options.path, label), gather(options.code, label)};
}

}  // namespace

// -log sigmoid(z) for branch 1 and -log sigmoid(-z) for branch 0 are softplus(z) - branch z.
Value hierarchical_softmax(const Value& hidden, const Value& label, const Value& weight,
                           const Value& bias, HierarchicalSoftmaxOptions options,
                           SourceLocation where) {
  Layer layer(hidden, "hierarchical_softmax", "", where);
  const std::int64_t nodes =
      require_table(layer, hidden, label, weight, bias, {"inner nodes", "nodes"});
  layer.require(nodes >= 1, "there must be an inner node or more");
  const Way way = options.path || options.code ? table_way(layer, label, options)
                                               : complete_way(label, nodes + 1);
  const Value passed = maximum(way.path, 0.0);
  Value z = sum(gather(weight, passed) * unsqueeze(hidden, 1), {.axes = {2}});
  if (bias) z = z + gather(bias, passed);
  const Value terms = softplus(z, where) - cast(way.code, {.dtype = z.dtype()}) * z;
  return sum(select(0.0 <= way.path, terms, 0.0), {.axes = {1}});
}

ClassTree huffman_tree(const std::vector<double>& frequencies) {
  const std::size_t classes = frequencies.size();
  if (classes < 2) fail_usage("huffman_tree: there must be two classes or more");
  // Nodes: the classes first, then the inner nodes in the order they are made, the root last.
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
  for (std::size_t made = classes; made < parent.size(); ++made) {
    double sum = 0;
    for (const std::int64_t side : {0, 1}) {
      const auto [frequency, node] = rarest.top();
      rarest.pop();
      parent[node] = made;
      branch[node] = side;
      sum += frequency;
    }
    rarest.emplace(sum, made);
  }

  const std::size_t root = parent.size() - 1;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> ways(classes);  // root first
  std::size_t depth = 0;
  for (std::size_t i = 0; i < classes; ++i) {
    for (std::size_t node = i; node != root; node = parent[node]) {
      ways[i].emplace_back(static_cast<std::int64_t>(parent[node] - classes), branch[node]);
    }
    std::reverse(ways[i].begin(), ways[i].end());
    depth = std::max(depth, ways[i].size());
  }
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(classes),
                                           static_cast<std::int64_t>(depth)};
  ClassTree tree{Tensor(i64, shape), Tensor(i64, shape), static_cast<std::int64_t>(classes - 1)};
  std::fill_n(tree.path.data<std::int64_t>(), classes * depth, std::int64_t{-1});
  for (std::size_t i = 0; i < classes; ++i) {
    for (std::size_t j = 0; j < ways[i].size(); ++j) {
      tree.path.data<std::int64_t>()[i * depth + j] = ways[i][j].first;
      tree.code.data<std::int64_t>()[i * depth + j] = ways[i][j].second;
    }
  }
  return tree;
}

}  // namespace trireme::nn
