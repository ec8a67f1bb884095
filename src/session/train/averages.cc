// The parameters' averages in place of the parameters.

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "ir/program.h"
#include "nn/updates.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

// A parameter and the parameter that holds its average.
using Names = std::vector<std::pair<std::string, std::string>>;

// Of all sets of updates that have run; `any` becomes true if some set keeps averages.
Names averaged_parameters(const ir::Program& program, Session& session, bool& any) {
  Names names;
  std::set<std::string> known;
  const std::vector<std::string> frozen = session.frozen();
  for (const std::string& set : ir::names_of_updates(program)) {
    for (const auto& parameter : program.parameters()) {
      const std::string average = nn::state_prefix(set) + parameter->name() + ".average";
      if (program.find_parameter(average) == nullptr) continue;
      any = true;
      if (std::binary_search(frozen.begin(), frozen.end(), parameter->name())) continue;
      const std::string counter = nn::counter_name(set, "step");
      if (session.parameter(counter).item<std::int64_t>() == 0) continue;
      if (known.insert(parameter->name()).second) names.emplace_back(parameter->name(), average);
    }
  }
  return names;
}

void swap(Session& session, const Names& names) {
  for (const auto& [name, average] : names) {
    const Tensor value = session.parameter(name);
    session.set_parameter(name, session.parameter(average));
    session.set_parameter(average, value);
  }
}

// Swaps, and back at its end.
struct Swapped {
  Swapped(Session& session_in, Names names_in) : session(session_in), names(std::move(names_in)) {
    swap(session, names);
  }
  ~Swapped() { swap(session, names); }
  Swapped(const Swapped&) = delete;
  Swapped& operator=(const Swapped&) = delete;
  Session& session;
  Names names;
};

}  // namespace

AveragedParameters::AveragedParameters(const Program& program, Session& session) {
  bool any = false;
  Names names = averaged_parameters(program.ir(), session, any);
  if (!any) {
    fail_usage("there are no averages of the parameters of " + program.name() +
               "\n  hint   ask for them: .updates = {.average = Average::exponential(0.999)}");
  }
  swapped_ = std::make_shared<Swapped>(session, std::move(names));
}

}  // namespace trireme
