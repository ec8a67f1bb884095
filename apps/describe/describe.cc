#include "describe/describe.h"

#include <CLI/CLI.hpp>
#include <string>

namespace {

using Json = nlohmann::ordered_json;

Json names_of(const CLI::Option& option) {
  Json names = Json::array();
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

nlohmann::ordered_json describe(const CLI::App& app) {
  Json options = Json::array(), arguments = Json::array(), commands = Json::array();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    if (option->get_positional()) {
      arguments.push_back({{"name", option->get_name()}, {"doc", option->get_description()}});
      continue;
    }
    const bool takes_value = option->get_items_expected_max() > 0;
    options.push_back({{"names", names_of(*option)},
                       {"value", takes_value ? option->get_type_name() : ""},
                       {"doc", option->get_description()}});
  }
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (!command->get_group().empty()) commands.push_back(describe(*command));
  }
  return {{"name", app.get_name()},
          {"description", app.get_description()},
          {"options", options},
          {"arguments", arguments},
          {"commands", commands}};
}
