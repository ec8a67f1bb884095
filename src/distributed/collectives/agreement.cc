#include "distributed/collectives/agreement.h"

#include <algorithm>
#include <utility>

namespace trireme::distributed {
namespace {

// A member that has the results of the last step without committing it reaches the same state by
// committing it.
bool is_behind(const Standing& standing, const Standing& source) {
  if (source.in_step == 0 || standing.in_step == 0) return true;
  const std::int64_t behind = source.committed - standing.committed;
  return behind != 0 && (behind != 1 || standing.exchanged == 0);
}

}  // namespace

bool Agreement::anyone_needs() const {
  return std::find(needs.begin(), needs.end(), true) != needs.end();
}

Agreement agree_on(const std::vector<Standing>& all) {
  const auto farther = [](const Standing& a, const Standing& b) {
    return std::pair(a.in_step, a.committed) < std::pair(b.in_step, b.committed);
  };
  const auto source = std::max_element(all.begin(), all.end(), farther);
  Agreement agreement{source->committed, static_cast<int>(source - all.begin()), {}};
  for (auto member = all.begin(); member != all.end(); ++member) {
    agreement.needs.push_back(member != source && is_behind(*member, *source));
  }
  return agreement;
}

}  // namespace trireme::distributed
