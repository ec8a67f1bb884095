// trireme compile: a saved model to a folder that runs without a compiler.

#include "trireme/compile.h"

#include <cstdio>
#include <memory>
#include <string>

#include "commands.h"

namespace {

namespace tr = trireme;

struct Arguments {
  std::string model;
  std::string output;
  std::string precision;
  tr::CompileModelOptions options;
};

void compile(Arguments& arguments) {
  arguments.options.precision = tr::parse_precision(arguments.precision);
  tr::Model model = tr::load_model(arguments.model);
  const bool native = arguments.options.target == "native";
  std::string directory = arguments.output;
  if (directory.empty()) directory = arguments.model + "/compiled-" + arguments.options.target;
  const tr::CompiledSize size = tr::compile_model(model, directory, arguments.options);
  std::printf("%s: compiled for %s%s, %d kernels, %lld bytes of code, %lld of constants\n",
              directory.c_str(), size.target.c_str(), native ? " (this machine)" : "", size.kernels,
              static_cast<long long>(size.code_bytes), static_cast<long long>(size.constant_bytes));
}

}  // namespace

void add_compile(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "compile", "a saved model to a folder that runs without a compiler, by Trireme::inference");
  command->add_option("model", arguments->model, "folder of a saved model")->required();
  command->add_option("--target", arguments->options.target,
                      "x86-64-v3, x86-64-v4, aarch64 or native (default)");
  command
      ->add_option("--precision", arguments->precision,
                   "of weights and of what is kept between steps: f32 (default), bf16 or f16")
      ->default_val("f32");
  command->add_option("-o,--output", arguments->output,
                      "folder to write (default: MODEL/compiled-TARGET)");
  command->add_option("--linker", arguments->options.linker, "default: mold, else ld.lld");
  command->callback([arguments] { compile(*arguments); });
}
