#pragma once

// A trained network inside of another Program, for distillation.

#include <map>
#include <string>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/saved_model.h"
#include "trireme/session.h"
#include "trireme/source_location.h"
#include "trireme/state.h"

namespace trireme {

// Adds the ops of a trained network to the Program of other inputs, in inference: its running
// statistics and weights do not change, and no gradients are computed for them.
//   tr::Teacher teacher(tr::load_model("large"), {{"image", image}});
//   tr::Value loss = mean(nn::distillation(logits, teacher.outputs()[0]));
//   tr::Trainer trainer(program, {.loss = loss});
//   teacher.load(trainer.session());
// Several teachers have several names. The weights are parameters "NAME/...", which are part of
// checkpoints, but of saved models only if an output needs them.
class TRIREME_API Teacher {
 public:
  // `inputs` are the values in place of the inputs of the model, by their names.
  // Errors: usage, for an input of the model that is missing, has another type or is a sequence of
  // different lengths, inputs of different Programs, and a name that is taken.
  Teacher(Model& model, const std::map<std::string, Value>& inputs, std::string name = "teacher");
  Teacher(Model&& model, const std::map<std::string, Value>& inputs, std::string name = "teacher")
      : Teacher(model, inputs, std::move(name)) {}
  // The same of a network that is no saved model. Copies its parameters as they are now.
  Teacher(const Program& program, Session& session, const std::vector<Value>& outputs,
          const std::map<std::string, Value>& inputs, std::string name = "teacher");

  const std::vector<Value>& outputs() const { return outputs_; }
  // Sets the parameters of the teacher in a Session of the Program, or of a clone of it.
  // Errors: not_found, for a Program without this teacher.
  void load(Session& session) const;

 private:
  std::string name_;
  std::vector<Value> outputs_;
  StateDict values_;
};

}  // namespace trireme
