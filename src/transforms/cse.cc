#include "transforms/cse.h"

#include <map>
#include <string>
#include <tuple>

#include "transforms/rewrite.h"

namespace trireme::transforms {

void merge_equal(ir::Program& program) {
  using Read = std::pair<const ir::Value*, int>;  // value; for parameters, number of assigns before
  using Key = std::tuple<std::string, std::vector<Read>, std::string>;
  std::map<Key, std::vector<ir::Value*>> seen;
  std::map<const ir::Value*, int> assigns;

  rewrite(program, [&](ir::Builder&, ir::Op& op) -> Replacement {
    if (op.has(ir::Trait::side_effect)) {
      ++assigns[op.operands[0]];
      return std::nullopt;
    }
    if (op.has(ir::Trait::random) || !op.blocks.empty()) return std::nullopt;
    std::vector<Read> reads;
    for (const ir::Value* operand : op.operands) {
      const auto found = assigns.find(operand);
      reads.push_back({operand, found == assigns.end() ? 0 : found->second});
    }
    std::string attributes;
    for (const NamedAttribute& attribute : op.attributes) {
      attributes += attribute.name + "=" + print_attribute(attribute.value) + ";";
    }
    std::vector<ir::Value*> results;
    for (const auto& result : op.results) results.push_back(result.get());
    const auto [found, inserted] =
        seen.try_emplace(Key(op.name(), std::move(reads), std::move(attributes)), results);
    if (inserted) return std::nullopt;
    return found->second;
  });
}

}  // namespace trireme::transforms
