// The parameters' averages in place of the parameters.

#include "base/error.h"
#include "ir/program.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using Names = std::vector<std::string>;

Names averaged_parameters(const Program& program) {
  Names names;
  for (const auto& parameter : program.ir().parameters()) {
    if (program.ir().find_parameter(parameter->name() + ".average") != nullptr) {
      names.push_back(parameter->name());
    }
  }
  return names;
}

void swap(Session& session, const Names& names) {
  for (const std::string& name : names) {
    const Tensor value = session.parameter(name);
    session.set_parameter(name, session.parameter(name + ".average"));
    session.set_parameter(name + ".average", value);
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
  Names names = averaged_parameters(program);
  if (names.empty()) {
    fail_usage("there are no averages of the parameters of " + program.name() +
               "\n  hint   ask for them: .updates = {.average = Average::exponential(0.999)}");
  }
  const bool any = session.parameter("optimizer.step").item<std::int64_t>() > 0;
  swapped_ = std::make_shared<Swapped>(session, any ? std::move(names) : Names{});
}

}  // namespace trireme
