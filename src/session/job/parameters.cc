// What a job says of single parameters, in a layer and in [train].

#include "base/error.h"
#include "ir/program.h"
#include "session/job/field_reader.h"
#include "session/job/model.h"
#include "session/job/tables.h"

namespace trireme::job {
namespace {

// `settings` with what the table says of them.
ParameterSettings read_settings_of(Table& table, ParameterSettings settings) {
  FieldReader reader(table);
  fields(reader, settings);
  table.done();
  try {
    ir::check(settings);
  } catch (const Error& error) {
    fail_at(table.self(), error.what());
  }
  return settings;
}

}  // namespace

void configure_new_parameters(ir::Program& program, std::size_t first, const Node& node) {
  bool any = false;
  for (std::size_t i = first; i < program.parameters().size(); ++i) {
    ir::Parameter& parameter = *program.parameters()[i];
    if (!parameter.trainable) continue;
    Table table(node);
    parameter.settings = read_settings_of(table, parameter.settings);
    any = true;
  }
  if (!any) fail_at(node, "this layer has no parameters to train");
}

void configure_parameters(Program& program, const Settings& settings) {
  if (settings.parameters == nullptr) return;
  const Node& list = *settings.parameters;
  if (list.kind != Node::Kind::list) fail_at(list, "must be a list, but is " + kind_text(list));
  for (const Node& entry : list.items) {
    std::string match;
    bool any = false;
    std::vector<std::string> names;
    for (const auto& parameter : program.ir().parameters()) {
      Table table(entry);
      table.required("match");
      match = table.text("match", "");
      const ParameterSettings made = read_settings_of(table, parameter->settings);
      if (!parameter->trainable) continue;
      names.push_back(parameter->name());
      if (!ir::matches(match, parameter->name())) continue;
      parameter->settings = made;
      any = true;
    }
    if (any) continue;
    const std::string near = nearest(match, names);
    fail_at(entry, "no parameter to train matches \"" + match + "\"" +
                       (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
  }
}

}  // namespace trireme::job
