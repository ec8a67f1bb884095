// A saved model compiled ahead of time: its Plan with kernels of our own alone, their code, and the
// constants, as a folder.

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/safetensors.h"
#include "codegen/codegen.h"
#include "compiler/compile.h"
#include "device/device.h"
#include "inference/model_file.h"
#include "inference/target.h"
#include "ir/program.h"
#include "kernels/library.h"
#include "runtime/executor.h"
#include "session/model/link.h"
#include "session/model/model_folder.h"
#include "session/run/storage.h"
#include "trireme/compile.h"

namespace trireme {
namespace {

using inference::ModelFile;

std::string resolved(const std::string& target) {
  if (target != "native") return target;
  const std::string native = inference::native_target();
  if (native.empty()) {
    fail_usage(
        "native: this machine is none that models are compiled for\n"
        "  hint   name the target that the model is to run on");
  }
  return native;
}

// Runs the preparation here: its results are constants of the Plan.
void add_prepared(const compiler::PreparedPlans& plans, Session& session, Safetensors& constants) {
  if (plans.preparation == nullptr) return;
  const plan::Plan& plan = *plans.preparation;
  runtime::Bindings bindings;
  std::map<std::string, Tensor> parameters;
  for (const plan::Buffer& buffer : plan.buffers) {
    if (buffer.kind != plan::BufferKind::parameter) continue;
    parameters.emplace(buffer.name, session.parameter(buffer.name));
    bindings.parameters[buffer.name] = parameters.at(buffer.name).bytes();
  }
  for (std::size_t i = 0; i < plans.names.size(); ++i) {
    const plan::Buffer& buffer = plan.buffers[static_cast<std::size_t>(plan.fetches[i])];
    Tensor& result = constants.tensors[plans.names[i]];
    result = Tensor::uninitialized(buffer.dtype, evaluate(buffer.shape, {}));
    bindings.fetches.push_back(result.bytes());
  }
  const auto device = device::make_cpu_device(1);
  runtime::Executor(plans.preparation, *device, {.find_kernel = kernels::find}).run({}, bindings);
}

Safetensors constants_of(const compiler::PreparedPlans& plans, Session& session) {
  Safetensors constants;
  add_prepared(plans, session, constants);
  for (const plan::Buffer& buffer : plans.plan->buffers) {
    if (buffer.kind != plan::BufferKind::parameter || constants.tensors.contains(buffer.name)) {
      continue;
    }
    constants.tensors.emplace(buffer.name, session.parameter(buffer.name));
  }
  return constants;
}

void check_library_calls(const plan::Plan& plan) {
  for (const plan::Step& step : plan.steps) {
    for (const plan::Nested& nested : step.control.blocks) check_library_calls(*nested.plan);
    if (step.library.kernel.empty() || kernels::find_loop(step.library.kernel) != nullptr) continue;
    fail_usage(
        fmt::format("{} needs the library kernel \"{}\", which a compiled model does not have",
                    step.sources.empty() ? step.name : step.sources.front(), step.library.kernel));
  }
}

ModelFile describe(const Model& model, const std::string& target, plan::Plan plan) {
  ModelFile file{.name = model.name(), .target = target, .labels = model.labels()};
  const std::vector<Value> inputs = model.program().inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Model::Port& port = model.inputs()[i];
    file.inputs.push_back({port.name, port.dtype, port.shape, inputs[i].get()->type.splits_of});
  }
  for (const Model::Port& port : model.outputs()) {
    file.outputs.push_back({port.name, port.dtype, port.shape});
  }
  file.plan = std::move(plan);
  return file;
}

bool is_compiled_file(std::string_view name) {
  return name == inference::kPlanFile || name == inference::kConstantsFile ||
         name == inference::kKernelsFile || name == kChecksumsFile;
}

struct Scratch {
  explicit Scratch(std::string path_in) : path(std::move(path_in)) { make_directories(path); }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

}  // namespace

CompiledSize compile_model(Model& model, const std::string& directory,
                           const CompileModelOptions& options) {
  const std::string target = resolved(options.target);
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const auto codegen = codegen::make_object_codegen(codegen::named_target(target), threads);
  const auto preparing = codegen::make_llvm_codegen(
      {.cache_directory = codegen::default_cache_directory(), .threads = threads});
  std::vector<const ir::Value*> fetches;
  for (const Value& output : model.program().outputs()) fetches.push_back(output.get());
  const compiler::PreparedPlans plans =
      compiler::compile_prepared(model.program().ir(), fetches, *preparing, *codegen,
                                 {.libraries = false, .storage = storage_of(options.precision)});
  check_library_calls(*plans.plan);

  const std::string description = inference::model_file_text(describe(model, target, *plans.plan));
  const std::string constants = safetensors_bytes(constants_of(plans, model.session()));
  CompiledSize size{.target = target,
                    .kernels = static_cast<int>(codegen->objects().size()),
                    .constant_bytes = static_cast<std::int64_t>(constants.size())};
  replace_folder(directory, {inference::kFormat.name, inference::kPlanFile, is_compiled_file},
                 [&](const std::string& folder) {
                   std::string code;
                   {
                     const Scratch scratch(folder + "/objects");
                     code = link_shared(codegen->objects(), options.linker, scratch.path);
                   }
                   size.code_bytes = static_cast<std::int64_t>(code.size());
                   const auto write = [&](const char* name, const std::string& content) {
                     write_file_atomically(folder + "/" + name, content);
                   };
                   write(inference::kPlanFile, description);
                   write(inference::kConstantsFile, constants);
                   write(inference::kKernelsFile, code);
                   write(kChecksumsFile,
                         checksums_text(inference::kFormat, {{inference::kPlanFile, description},
                                                             {inference::kConstantsFile, constants},
                                                             {inference::kKernelsFile, code}}));
                 });
  return size;
}

}  // namespace trireme
