#include "trireme/teacher.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "base/error.h"
#include "ir/blocks.h"
#include "ir/builder.h"
#include "session/model/inference_program.h"

namespace trireme {
namespace {

// The value in place of an input of the teacher.
ir::Value* input_of(const ir::Value& input, const std::map<std::string, Value>& inputs) {
  const auto found = inputs.find(input.name);
  if (found == inputs.end() || !found->second) {
    fail_usage(
        fmt::format("Teacher: no value for the input \"{}\" : {}", input.name, input.type.str()));
  }
  ir::Value* value = found->second.get();
  if (!input.type.splits_of.empty() || !value->type.splits_of.empty() ||
      value->type.dtype != input.type.dtype || value->type.shape != input.type.shape) {
    fail_usage(
        fmt::format("Teacher: the input \"{}\" is {}, but its value is {}\n"
                    "  hint   sequences of different lengths cannot be inputs of a teacher",
                    input.name, input.type.str(), found->second.str()));
  }
  return value;
}

}  // namespace

Teacher::Teacher(Model& model, const std::map<std::string, Value>& inputs, std::string name)
    : Teacher(model.program(), model.session(), model.program().outputs(), inputs,
              std::move(name)) {}

Teacher::Teacher(const Program& program, Session& session, const std::vector<Value>& outputs,
                 const std::map<std::string, Value>& inputs, std::string name)
    : name_(std::move(name)) {
  const std::unique_ptr<ir::Program> network = inference_program("Teacher", program, outputs);
  if (network->main().arguments.empty()) fail_usage("Teacher: the network has no inputs");
  std::vector<ir::Value*> given;
  for (const auto& input : network->main().arguments) {
    given.push_back(input_of(*input, inputs));
    if (given.back()->program != given[0]->program) {
      fail_usage("Teacher: the inputs belong to different Programs");
    }
  }
  ir::Program& to = *given[0]->program;
  if (to.has_parameters(name_)) {
    fail_usage(
        fmt::format("Teacher: the layer \"{}\" exists\n  hint   each teacher needs a name", name_));
  }
  ir::Copier copier(to.builder().block());
  for (std::size_t i = 0; i < given.size(); ++i) {
    copier.set(network->main().arguments[i].get(), given[i]);
  }
  for (const auto& parameter : network->parameters()) {
    const std::string full = name_ + "/" + parameter->name();
    values_.emplace(full, session.parameter(parameter->name()).clone());
    copier.set(parameter->value.get(), to.add_parameter(full, parameter->value->type, {},
                                                        /*trainable=*/false, parameter->location));
  }
  for (const auto& op : network->main().ops) {
    ir::Op* copy = copier.copy(*op);
    copy->location.layer = name_ + (op->location.layer.empty() ? "" : "/") + op->location.layer;
  }
  for (ir::Value* result : network->main().results) outputs_.emplace_back(copier.of(result));
}

void Teacher::load(Session& session) const {
  for (const auto& [name, value] : values_) session.set_parameter(name, value);
}

}  // namespace trireme
