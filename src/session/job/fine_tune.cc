#include "session/job/fine_tune.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "ir/program.h"

namespace trireme::job {
namespace {

const Node* from_of(const Settings& settings) {
  const Node* from = settings.model->find(kFrom);
  if (from != nullptr && from->kind != Node::Kind::text) {
    fail_at(*from, "must be the folder of a saved model, but is " + kind_text(*from));
  }
  return from;
}

std::vector<std::string> fresh_patterns(const Settings& settings) {
  const Node* fresh = settings.model->find(kFresh);
  if (fresh == nullptr) return {};
  if (from_of(settings) == nullptr) fail_at(*fresh, "has a meaning only with model.from");
  if (fresh->kind != Node::Kind::list) {
    fail_at(*fresh, "must be a list of patterns, but is " + kind_text(*fresh));
  }
  return texts(*fresh);
}

void load_parameter(const Node& from, Model& model, const Value& value, Session& session) {
  const std::string& folder = from.text;
  const std::string name = value.name().substr(1);
  const char* const hint = "\n  hint   list it in model.fresh to train it from the beginning";
  const Value known = model.program().find(name);
  if (!known) {
    std::vector<std::string> names;
    for (const Value& parameter : model.program().parameters()) {
      names.push_back(parameter.name().substr(1));
    }
    const std::string near = nearest(name, names);
    fail_at(from, fmt::format("{} has no parameter \"{}\"{}{}", folder, name,
                              near.empty() ? "" : "; the nearest is \"" + near + "\"", hint));
  }
  if (known.dtype() != value.dtype() || known.shape() != value.shape()) {
    fail_at(from, fmt::format("parameter \"{}\" is {}{} in {}, but {}{} in this job{}", name,
                              name_of(known.dtype()), str(known.shape()), folder,
                              name_of(value.dtype()), str(value.shape()), hint));
  }
  session.set_parameter(name, model.session().parameter(name));
}

}  // namespace

std::optional<Model> open_starting_model(const Settings& settings, const std::string& directory) {
  const Node* from = from_of(settings);
  if (from == nullptr) return std::nullopt;
  try {
    return load_model(path_in(directory, from->text));
  } catch (const Error& error) {
    throw Error(error.kind(), from->where() + ": " + from->path + ": " + error.what());
  }
}

void load_starting_parameters(const Settings& settings, std::optional<Model>& model,
                              const std::vector<Value>& parameters, Session& session) {
  const std::vector<std::string> patterns = fresh_patterns(settings);
  if (!model) return;
  const Node& from = *from_of(settings);
  std::vector<bool> used(patterns.size());
  bool any = false;
  for (const Value& parameter : parameters) {
    bool fresh = false;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (!ir::matches(patterns[i], parameter.name().substr(1))) continue;
      fresh = used[i] = true;
    }
    if (fresh) continue;
    load_parameter(from, *model, parameter, session);
    any = true;
  }
  const auto unused = std::find(used.begin(), used.end(), false);
  if (unused != used.end()) {
    fail_at(*settings.model->find(kFresh),
            fmt::format("no parameter matches \"{}\"",
                        patterns[static_cast<std::size_t>(unused - used.begin())]));
  }
  if (!any) fail_at(from, "every parameter is fresh, so nothing would be loaded");
}

}  // namespace trireme::job
