#include "compiler/compile.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "compiler/assemble.h"
#include "compiler/dump.h"
#include "compiler/groups.h"
#include "compiler/pipeline.h"
#include "compiler/storage.h"
#include "ir/blocks.h"
#include "transforms/preparation.h"
#include "transforms/select_updates.h"

namespace trireme::compiler {
namespace {

// Returns a copy of `program` whose results are `fetches`.
std::unique_ptr<ir::Program> copy_for(const ir::Program& program,
                                      const std::vector<const ir::Value*>& fetches) {
  const auto checked = [&](const ir::Value* value) {
    if (value->program != &program) {
      fail_usage("run: " + ir::name_in_text(value) + " is not a value of this Program");
    }
    return value;
  };
  std::unique_ptr<ir::Program> copy = program.clone();
  ir::Block& block = copy->main();
  block.results.clear();
  std::unordered_map<const ir::Op*, std::size_t> position;
  for (std::size_t i = 0; i < program.main().ops.size(); ++i) {
    position[program.main().ops[i].get()] = i;
  }
  for (const ir::Value* fetch : fetches) {
    const ir::Value* value = checked(fetch);
    ir::Value* copied_value = nullptr;
    if (value->kind == ir::ValueKind::parameter) {
      copied_value = copy->find_parameter(value->name)->value.get();
    } else if (value->kind == ir::ValueKind::argument) {
      copied_value = block.arguments[static_cast<std::size_t>(value->index)].get();
    } else {
      const auto found = position.find(value->producer);
      if (found == position.end()) {
        fail_usage("run: " + ir::name_in_text(value) + " is inside a nested block");
      }
      copied_value = block.ops[found->second]->result(value->index);
    }
    block.results.push_back(copied_value);
  }
  return copy;
}

// Returns the total size of the values that the Program computes. Views and constants need no
// memory and do not count. Returns 0 if a size is known only at run time.
Dim value_bytes(const ir::Program& program) {
  Dim bytes = 0;
  for (const auto& op : program.main().ops) {
    if (op->has(ir::Trait::makes_splits)) return 0;
    const bool computes =
        !op->has(ir::Trait::view) && (!op->has(ir::Trait::generator) || op->has(ir::Trait::random));
    if (!computes) continue;
    for (const auto& result : op->results) {
      const auto size = static_cast<std::int64_t>(size_of(result->type.dtype));
      bytes = bytes + product(result->type.shape) * Dim(size);
    }
  }
  return bytes;
}

void collect_kernels(const Assembly& assembly,
                     std::vector<std::pair<plan::Plan*, const kernel_ir::Kernel*>>& kernels) {
  for (const auto& kernel : assembly.kernels) {
    kernel_ir::expand_math(*kernel);
    kernel_ir::verify(*kernel);
    kernels.emplace_back(assembly.plan.get(), kernel.get());
  }
  for (const Assembly& nested : assembly.nested) collect_kernels(nested, kernels);
}

// Compiles all kernels at once, also those of blocks, so that the codegen can share the work.
void generate_code(Assembly& assembly, codegen::Codegen& codegen) {
  std::vector<std::pair<plan::Plan*, const kernel_ir::Kernel*>> owned;
  collect_kernels(assembly, owned);
  std::vector<const kernel_ir::Kernel*> kernels;
  for (const auto& [plan, kernel] : owned) kernels.push_back(kernel);
  const auto compiled = codegen.compile(kernels);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    owned[i].first->kernels.push_back(
        {kernels[i]->name, kernel_ir::print(*kernels[i]),
         [kernel = compiled[i]](void* const* buffers, const std::int64_t* sizes, std::int64_t begin,
                                std::int64_t end) { kernel->run(buffers, sizes, begin, end); },
         compiled[i]->symbol()});
  }
}

std::unique_ptr<ir::Program> optimized(const ir::Program& source,
                                       const std::vector<const ir::Value*>& fetches,
                                       const PassContext& context, Dump& dump) {
  std::unique_ptr<ir::Program> program = copy_for(source, fetches);
  transforms::select_updates(*program, context.options.update, context.options.frozen);
  dump.program("start", *program);
  run_passes(optimization_passes(), *program, context, dump);
  return program;
}

// Returns the dtypes in which the Plan stores the parameters.
std::vector<DType> types_of_parameters(const plan::Plan& plan,
                                       const std::vector<std::string>& names) {
  std::vector<DType> types;
  for (const std::string& name : names) {
    const auto found =
        std::find_if(plan.buffers.begin(), plan.buffers.end(), [&](const plan::Buffer& buffer) {
          return buffer.kind == plan::BufferKind::parameter && buffer.name == name;
        });
    if (found == plan.buffers.end()) fail_internal("a prepared parameter is not in its Plan");
    types.push_back(found->dtype);
  }
  return types;
}

Assembly assemble_program(ir::Program& program, const PassContext& context,
                          const StorageOptions& storage, Dump& dump) {
  const Dim program_bytes = value_bytes(program);
  run_passes(fusion_passes(), program, context, dump);
  ir::verify(program);

  const Dependencies dependencies(program);
  const std::vector<Group> groups = make_groups(program, dependencies, context.options.fuse);
  dump.groups(program, groups);

  const CompileBlock compile_block = [&](const ir::Block& block) {
    Dump no_dump("");
    CompileOptions options = context.options;
    options.updates = false;
    const PassContext inside{options, context.target};
    const std::unique_ptr<ir::Program> body = ir::as_program(block);
    run_passes(optimization_passes(), *body, inside, no_dump);
    return assemble_program(*body, inside, {}, no_dump);
  };
  Assembly assembly =
      assemble(program, dependencies, groups, context.target, storage, compile_block);
  assembly.plan->program_bytes = program_bytes;
  return assembly;
}

std::shared_ptr<const plan::Plan> make_plan(ir::Program& program, codegen::Codegen& codegen,
                                            const CompileOptions& options,
                                            const StorageOptions& storage, Dump& dump) {
  Assembly assembly = assemble_program(program, {options, codegen.target()}, storage, dump);
  generate_code(assembly, codegen);
  plan::verify(*assembly.plan);
  dump.plan(*assembly.plan);
  return assembly.plan;
}

}  // namespace

std::shared_ptr<const plan::Plan> compile(const ir::Program& source,
                                          const std::vector<const ir::Value*>& fetches,
                                          codegen::Codegen& codegen,
                                          const CompileOptions& options) {
  Dump dump(options.dump_directory);
  const std::unique_ptr<ir::Program> program =
      optimized(source, fetches, {options, codegen.target()}, dump);
  return make_plan(*program, codegen, options,
                   {.type = options.storage, .fixed_shapes = !options.updates}, dump);
}

PreparedPlans compile_prepared(const ir::Program& source,
                               const std::vector<const ir::Value*>& fetches,
                               codegen::Codegen& preparing, codegen::Codegen& codegen,
                               const CompileOptions& options) {
  if (options.updates)
    fail_internal(
        "compile_prepared: updates are not supported, because prepared parameters must not change");
  Dump dump(options.dump_directory);
  const std::unique_ptr<ir::Program> program =
      optimized(source, fetches, {options, codegen.target()}, dump);
  PreparedPlans plans;
  std::function<bool(const ir::Value*)> copied;
  if (options.storage != DType::f32) copied = narrow_weights(*program);
  transforms::Preparation preparation = transforms::split_preparation(*program, copied);
  dump.program("preparation", *program);
  const StorageOptions storage{.type = options.storage,
                               .fixed_shapes = true,
                               .prepared = {preparation.names.begin(), preparation.names.end()}};
  plans.plan = make_plan(*program, codegen, options, storage, dump);
  if (preparation.program == nullptr) return plans;
  Dump no_dump("");
  plans.preparation =
      make_plan(*preparation.program, preparing, options,
                {.fetches = types_of_parameters(*plans.plan, preparation.names)}, no_dump);
  plans.names = std::move(preparation.names);
  return plans;
}

}  // namespace trireme::compiler
