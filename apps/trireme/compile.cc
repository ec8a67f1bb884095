// trireme compile: compiles a saved model to a folder that runs without a compiler.

#include "trireme/compile.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "commands.h"
#include "support.h"

namespace commands {

namespace tr = trireme;

void compile(CompileArguments arguments) {
  arguments.options.precision = tr::parse_precision(arguments.precision);
  tr::Model model = tr::load_model(arguments.model);
  const bool native = arguments.options.target == "native";
  std::string directory = arguments.output;
  if (directory.empty()) directory = arguments.model + "/compiled-" + arguments.options.target;
  const tr::CompiledSize size = tr::compile_model(model, directory, arguments.options);
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"folder", directory},
                                         {"target", size.target},
                                         {"kernels", size.kernels},
                                         {"code_bytes", size.code_bytes},
                                         {"constant_bytes", size.constant_bytes}};
    std::printf("%s\n", json_text(json, 2).c_str());
    return;
  }
  std::printf("%s: compiled for %s%s, %d kernels, %lld bytes of code, %lld of constants\n",
              directory.c_str(), size.target.c_str(), native ? " (this machine)" : "", size.kernels,
              static_cast<long long>(size.code_bytes), static_cast<long long>(size.constant_bytes));
}

}  // namespace commands
