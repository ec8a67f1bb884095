#include "compiler/groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "compiler/epilogue.h"
#include "ir/blocks.h"

namespace trireme::compiler {
namespace {

using ir::Op;
using ir::Trait;

// Returns the parameter whose storage `value` shares, directly or through reshapes; null if none.
const ir::Value* underlying_parameter(const ir::Value* value) {
  while (value->producer != nullptr && value->producer->has(Trait::reshape)) {
    value = value->producer->operands[0];
  }
  return value->kind == ir::ValueKind::parameter ? value : nullptr;
}

// With more ops a kernel runs out of registers, and its compile time grows without a gain.
constexpr std::size_t kMaxOps = 64;
constexpr std::size_t kMaxExternalValues = 24;

// Groups that grow by merging: op i belongs to group leader(i).
class Merger {
 public:
  Merger(const ir::Program& program, const Dependencies& dependencies)
      : program_(program),
        dependencies_(dependencies),
        leader_(static_cast<std::size_t>(dependencies.count())) {
    std::iota(leader_.begin(), leader_.end(), 0);
    for (int i = 0; i < dependencies.count(); ++i) members_.push_back({i});
    results_.insert(program.main().results.begin(), program.main().results.end());
  }

  // Merges producers into consumers, the last consumers first, so that cheap ops are computed next
  // to their users instead of being stored where they were first possible. A group between two
  // others may be merged with one of them later, so those pairs are tried a second time.
  void merge_all() {
    for (int i = dependencies_.count() - 1; i >= 0; --i) {
      for (const ir::Value* operand : dependencies_.op(i)->operands) {
        if (operand->producer != nullptr) {
          try_merge(dependencies_.index_of(operand->producer), i);
        }
      }
    }
    const auto between = std::move(made_cycles_);
    for (const auto& [producer, consumer] : between) try_merge(producer, consumer);
  }

  // Adds to library kernels the following ops that the library can include.
  void absorb_epilogues() {
    for (int i = 0; i < dependencies_.count(); ++i) {
      const Epilogue epilogue = find_epilogue(program_, dependencies_, *dependencies_.op(i));
      for (const Op* op : epilogue.ops) {
        const int j = dependencies_.index_of(op);
        leader_[static_cast<std::size_t>(j)] = i;
        members_[static_cast<std::size_t>(i)].push_back(j);
        members_[static_cast<std::size_t>(j)].clear();
      }
      auto& members = members_[static_cast<std::size_t>(i)];
      std::sort(members.begin(), members.end());
    }
  }

  std::vector<Group> ordered() const;

 private:
  int leader(int i) const { return leader_[static_cast<std::size_t>(i)]; }
  const std::vector<int>& members(int leader) const {
    return members_[static_cast<std::size_t>(leader)];
  }

  void try_merge(int producer, int consumer) {
    const int from = leader(producer), into = leader(consumer);
    if (from == into) return;
    std::vector<int> all;
    std::merge(members(from).begin(), members(from).end(), members(into).begin(),
               members(into).end(), std::back_inserter(all));
    if (all.size() > kMaxOps) return;
    std::vector<const Op*> ops;
    for (const int i : all) ops.push_back(dependencies_.op(i));
    const std::optional<Domain> domain = common_domain(ops);
    if (!domain || !reads_before_assigning(ops, *domain) || !is_worth_it(ops, *domain)) return;
    if (makes_cycle(from, into)) {
      made_cycles_.emplace_back(producer, consumer);
      return;
    }
    for (const int i : all) leader_[static_cast<std::size_t>(i)] = into;
    members_[static_cast<std::size_t>(into)] = std::move(all);
    members_[static_cast<std::size_t>(from)].clear();
  }

  bool is_worth_it(const std::vector<const Op*>& ops, const Domain& domain) const {
    // Without elements there is nothing to save, and no loop whose position a sum could share.
    if (domain.has_reduction && product(domain.shape) == Dim(0)) return false;
    const std::set<const Op*> inside(ops.begin(), ops.end());
    std::set<const ir::Value*> external;
    bool stores_full = false;
    for (const Op* op : ops) {
      for (const ir::Value* operand : op->operands) {
        if (!inside.contains(operand->producer)) external.insert(operand);
      }
      for (const auto& result : op->results) {
        const Shape& shape = result->type.shape;
        if (!is_needed_outside(result.get(), inside)) continue;
        stores_full = stores_full || domain.is_full(shape);
        // A scalar with other users gets its own kernel.
        if (!domain.is_full(shape) && !domain.is_row(shape)) return false;
      }
    }
    if (external.size() > kMaxExternalValues) return false;
    // A reduction to one element runs on one thread, which must not write large results.
    return !(domain.has_reduction && domain.row_shape().empty() && stores_full);
  }

  // A kernel that assigns a parameter updates it in place. All its reads of the parameter must
  // read the element that is about to be replaced. An op that moves elements, or that combines
  // those of a row, reads other elements of its operands, and so of every parameter from which the
  // kernel computes them. A sum of all elements reads each in its turn.
  static bool reads_before_assigning(const std::vector<const Op*>& ops, const Domain& domain) {
    const bool by_rows = domain.has_reduction && domain.block == 0 && !domain.row_shape().empty();
    using Parameters = std::set<const ir::Value*>;
    Parameters assigned, moved;
    std::map<const Op*, Parameters> computed_from;
    for (const Op* op : ops) {
      const bool assigns = op->has(Trait::side_effect);
      const bool stays = assigns || op->has(Trait::elementwise) || op->has(Trait::reshape);
      Parameters& read = computed_from[op];
      for (std::size_t k = assigns ? 1 : 0; k < op->operands.size(); ++k) {
        const ir::Value* operand = op->operands[k];
        const auto inside = computed_from.find(operand->producer);
        if (inside != computed_from.end()) {
          read.insert(inside->second.begin(), inside->second.end());
        }
        const ir::Value* parameter = underlying_parameter(operand);
        if (parameter == nullptr) continue;
        if (assigned.contains(parameter)) return false;
        if (!assigns && !op->has(Trait::elementwise)) moved.insert(parameter);
        read.insert(parameter);
      }
      if (op->has(Trait::reduction) ? by_rows : !stays) moved.merge(read);
      if (assigns && !assigned.insert(op->operands[0]).second) return false;
    }
    return std::none_of(assigned.begin(), assigned.end(),
                        [&](const ir::Value* value) { return moved.contains(value); });
  }

  bool is_needed_outside(const ir::Value* value, const std::set<const Op*>& inside) const {
    if (results_.contains(value)) return true;
    const auto& users = dependencies_.users(value);
    return std::any_of(users.begin(), users.end(),
                       [&](const Op* user) { return !inside.contains(user); });
  }

  // Whether `into` depends on `from` through a third group.
  bool makes_cycle(int from, int into) const {
    std::set<int> seen;
    std::vector<int> open;
    const auto push = [&](int group) {
      if (seen.insert(group).second) open.push_back(group);
    };
    for (const int i : members(into)) {
      for (const int j : dependencies_.before(i)) {
        if (leader(j) != into && leader(j) != from) push(leader(j));
      }
    }
    while (!open.empty()) {
      const int group = open.back();
      open.pop_back();
      for (const int i : members(group)) {
        for (const int j : dependencies_.before(i)) {
          if (leader(j) == from || leader(j) == into) return true;
          push(leader(j));
        }
      }
    }
    return false;
  }

  const ir::Program& program_;
  const Dependencies& dependencies_;
  std::vector<int> leader_;
  std::vector<std::vector<int>> members_;
  std::vector<std::pair<int, int>> made_cycles_;  // producers and consumers that could not merge
  std::set<const ir::Value*> results_;
};

// Repeatedly takes the group that can run and whose last op is first in the Program, so that values
// are used soon after they are computed.
std::vector<Group> Merger::ordered() const {
  std::vector<int> leaders;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!members_[i].empty()) leaders.push_back(static_cast<int>(i));
  }
  std::vector<std::set<int>> waiting(members_.size());
  std::vector<std::set<int>> next(members_.size());
  for (const int group : leaders) {
    for (const int i : members(group)) {
      for (const int j : dependencies_.before(i)) {
        if (leader(j) == group) continue;
        waiting[static_cast<std::size_t>(group)].insert(leader(j));
        next[static_cast<std::size_t>(leader(j))].insert(group);
      }
    }
  }
  std::set<std::pair<int, int>> ready;  // last op, group
  for (const int group : leaders) {
    if (waiting[static_cast<std::size_t>(group)].empty())
      ready.insert({members(group).back(), group});
  }
  std::vector<Group> groups;
  while (!ready.empty()) {
    const int group = ready.begin()->second;
    ready.erase(ready.begin());
    Group& new_group = groups.emplace_back();
    for (const int i : members(group)) new_group.ops.push_back(dependencies_.op(i));
    new_group.library = std::any_of(new_group.ops.begin(), new_group.ops.end(),
                                    [](const Op* op) { return op->has(Trait::library); });
    if (!new_group.library) new_group.domain = *common_domain(new_group.ops);
    for (const int other : next[static_cast<std::size_t>(group)]) {
      auto& left = waiting[static_cast<std::size_t>(other)];
      left.erase(group);
      if (left.empty()) ready.insert({members(other).back(), other});
    }
  }
  if (groups.size() != leaders.size()) fail_internal("fusion made a cycle of groups");
  return groups;
}

}  // namespace

namespace {

// Adds the ops that define the symbols whose sizes the op needs.
void add_definers(const Op& op, const std::map<std::string, int>& defined_by,
                  std::set<int>& before) {
  if (defined_by.empty()) return;
  std::unordered_set<std::string> symbols;
  ir::add_symbols(op, symbols);
  for (const auto& [symbol, definer] : defined_by) {
    if (symbols.contains(symbol)) before.insert(definer);
  }
}

}  // namespace

Dependencies::Dependencies(const ir::Program& program) {
  std::map<std::string, int> defined_by;               // symbol to its first defining op
  std::unordered_map<const ir::Value*, int> assigned;  // parameter to its last assigning op
  std::unordered_map<const ir::Value*, std::vector<int>>
      read;  // parameter to the ops that read it since then
  for (const auto& owned : program.main().ops) {
    const Op* op = owned.get();
    const int i = count();
    ops_.push_back(op);
    index_[op] = i;
    std::set<int> before;
    add_definers(*op, defined_by, before);
    if (op->has(Trait::makes_splits)) defined_by.emplace(op->result()->type.splits_of, i);
    const bool assigns = op->has(Trait::side_effect);
    for (std::size_t k = 0; k < op->operands.size(); ++k) {
      const ir::Value* operand = op->operands[k];
      if (operand->producer != nullptr) before.insert(index_.at(operand->producer));
      const ir::Value* parameter = assigns && k == 0 ? nullptr : underlying_parameter(operand);
      if (parameter != nullptr) {
        const auto found = assigned.find(parameter);
        if (operand == parameter && found != assigned.end()) before.insert(found->second);
        read[parameter].push_back(i);
      }
      auto& users = users_[operand];
      if (!(assigns && k == 0) && (users.empty() || users.back() != op)) users.push_back(op);
    }
    if (assigns) {
      const ir::Value* parameter = op->operands[0];
      const auto found = assigned.find(parameter);
      if (found != assigned.end()) before.insert(found->second);
      for (const int reader : read[parameter]) {
        if (reader != i) before.insert(reader);
      }
      read[parameter].clear();
      assigned[parameter] = i;
    }
    before_.emplace_back(before.begin(), before.end());
  }
}

const std::vector<const ir::Op*>& Dependencies::users(const ir::Value* value) const {
  const auto found = users_.find(value);
  return found == users_.end() ? none_ : found->second;
}

std::vector<Group> make_groups(const ir::Program& program, const Dependencies& dependencies,
                               bool fuse) {
  Merger merger(program, dependencies);
  if (fuse) {
    merger.absorb_epilogues();
    merger.merge_all();
  }
  return merger.ordered();
}

}  // namespace trireme::compiler
