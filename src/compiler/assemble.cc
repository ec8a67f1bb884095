#include "compiler/assemble.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "compiler/control.h"
#include "compiler/epilogue.h"
#include "compiler/widen.h"
#include "ops/op.h"

namespace trireme::compiler {
namespace {

using ir::Op;
using ir::Trait;
using plan::BufferKind;

class Assembler {
 public:
  Assembler(const ir::Program& program, const Dependencies& dependencies,
            const std::vector<Group>& groups, const codegen::Target& target,
            const StorageOptions& storage, const CompileBlock& compile_block)
      : program_(program),
        dependencies_(dependencies),
        groups_(groups),
        target_(target),
        compile_block_(compile_block),
        narrow_(program, groups, storage) {
    find_defined_symbols();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const Op* op : groups[g].ops) group_of_[op] = static_cast<int>(g);
    }
    for (const auto& argument : program.main().arguments) {
      add_buffer(argument.get(), BufferKind::feed, argument->name);
    }
    for (const auto& parameter : program.parameters()) {
      add_buffer(parameter->value.get(), BufferKind::parameter, parameter->name());
    }
    for (std::size_t i = 0; i < program.main().results.size(); ++i) {
      const ir::Value* result = program.main().results[i];
      const BufferKind kind = has_own_memory(result) ? BufferKind::own : BufferKind::fetch;
      plan_.fetches.push_back(add_buffer(result, kind, ir::name_in_text(result)));
      if (i < storage.fetches.size()) plan_.buffers.back().dtype = storage.fetches[i];
    }
    find_last_uses();
  }

  Assembly run() {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      if (group.library) {
        add_library_step(group);
      } else if (is_alias(program_, group)) {
        const Op& op = *group.ops.front();
        alias(buffer_of(op.result()), buffer_of(op.operands[0]));
      } else {
        add_kernel_step(group, static_cast<int>(g));
      }
    }
    set_lifetimes();
    collect_symbols();
    return {std::make_shared<plan::Plan>(std::move(plan_)), std::move(kernels_),
            std::move(nested_)};
  }

 private:
  // --- Buffers

  int add_buffer(const ir::Value* value, BufferKind kind, std::string name) {
    plan::Buffer buffer;
    buffer.name = std::move(name);
    buffer.kind = kind;
    buffer.dtype = narrow_.type(value);
    buffer.shape = value->type.shape;
    plan_.buffers.push_back(std::move(buffer));
    const int id = static_cast<int>(plan_.buffers.size()) - 1;
    buffer_of_[value] = id;
    return id;
  }

  static std::string display_name(const ir::Value* value) {
    const std::string& layer = value->producer->location.layer;
    return value->producer->name() + (layer.empty() ? "" : " " + layer);
  }

  int buffer_of(const ir::Value* value) {
    const auto found = buffer_of_.find(value);
    if (found != buffer_of_.end()) return found->second;
    return add_buffer(value, has_own_memory(value) ? BufferKind::own : BufferKind::arena,
                      display_name(value));
  }

  void find_defined_symbols() {
    for (const auto& op : program_.main().ops) {
      if (!op->has(Trait::makes_splits)) continue;
      const auto rows = Dim::parse(op->result()->type.splits_of)->symbol();
      if (rows) defined_.insert(*rows);
    }
    // Symbols in the shapes of inputs are known from the start; steps only check them.
    for (const auto& argument : program_.main().arguments) {
      for (const Dim& dim : argument->type.shape) {
        if (const auto symbol = dim.symbol()) defined_.erase(*symbol);
      }
    }
  }

  bool has_own_memory(const ir::Value* value) const {
    if (defined_.empty()) return false;
    for (const Dim& dim : value->type.shape) {
      for (const std::string& symbol : dim.symbols()) {
        if (defined_.contains(symbol)) return true;
      }
    }
    return false;
  }

  int storage_of(const ir::Value* value) { return plan::root_of(plan_, buffer_of(value)); }

  void alias(int buffer, int of) { plan_.buffers[static_cast<std::size_t>(buffer)].alias_of = of; }

  bool is_fetch(const ir::Value* value) const {
    const auto& results = program_.main().results;
    return std::find(results.begin(), results.end(), value) != results.end();
  }

  // Conservative: a use of a reshape counts as a use of the reshaped value.
  void find_last_uses() {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const Op* op : groups_[g].ops) {
        for (const ir::Value* operand : op->operands) {
          for (const ir::Value* v = operand;; v = v->producer->operands[0]) {
            last_use_[v] = static_cast<int>(g);
            if (v->producer == nullptr || !v->producer->has(Trait::reshape)) break;
          }
        }
      }
    }
  }

  // --- Kernel steps

  std::vector<Output> outputs_of(const Group& group, int g) {
    std::vector<Output> outputs;
    for (const Op* op : group.ops) {
      if (op->has(Trait::side_effect)) {
        outputs.push_back({op->operands[1], storage_of(op->operands[0])});
      }
      for (const auto& result : op->results) {
        if (is_needed(result.get(), g)) outputs.push_back({result.get(), storage_of(result.get())});
      }
    }
    return outputs;
  }

  bool is_needed(const ir::Value* value, int g) const {
    if (is_fetch(value)) return true;
    const auto& users = dependencies_.users(value);
    return std::any_of(users.begin(), users.end(),
                       [&](const Op* user) { return group_of_.at(user) != g; });
  }

  // Lets outputs reuse the storage of inputs that are read for the last time. Returns the buffers
  // that reuse storage.
  std::vector<int> share_storage(const Group& group, int g, std::vector<Output>& outputs) {
    std::vector<int> shared;
    std::set<int> taken;
    for (Output& output : outputs) {
      const int id = output.storage;
      const plan::Buffer& buffer = plan_.buffers[static_cast<std::size_t>(id)];
      if (buffer.kind != BufferKind::arena || buffer.alias_of >= 0) continue;
      for (const Op* op : group.ops) {
        const ir::Value* found = operand_with_last_use(*op, g, buffer, taken);
        if (found == nullptr) continue;
        taken.insert(storage_of(found));
        output.storage = storage_of(found);
        alias(id, output.storage);
        shared.push_back(id);
        break;
      }
    }
    return shared;
  }

  const ir::Value* operand_with_last_use(const Op& op, int g, const plan::Buffer& like,
                                         const std::set<int>& taken) {
    for (const ir::Value* operand : op.operands) {
      if (operand->producer != nullptr && group_of_.at(operand->producer) == g) continue;
      const int root = storage_of(operand);
      const plan::Buffer& buffer = plan_.buffers[static_cast<std::size_t>(root)];
      if (buffer.kind != BufferKind::arena || buffer.dtype != like.dtype) continue;
      if (product(buffer.shape) != product(like.shape) || taken.contains(root)) continue;
      if (last_use_of_storage(root) == g) return operand;
    }
    return nullptr;
  }

  int last_use_of_storage(int root) const {
    int last = -1;
    for (const auto& [value, buffer] : buffer_of_) {
      if (plan::root_of(plan_, buffer) != root) continue;
      const auto found = last_use_.find(value);
      if (found != last_use_.end()) last = std::max(last, found->second);
    }
    return last;
  }

  void add_kernel_step(const Group& group, int g) {
    const Storages storage{
        [this](const ir::Value* value) { return storage_of(value); },
        [this](int id) { return plan_.buffers[static_cast<std::size_t>(id)].dtype; }};
    std::vector<Output> outputs = outputs_of(group, g);
    if (outputs.empty()) return;
    const std::vector<int> shared = share_storage(group, g, outputs);
    LoweredGroup lowered = lower_group(group, outputs, storage, target_);
    if (!lowered.in_place_is_safe && !shared.empty()) {
      for (const int buffer : shared) alias(buffer, -1);
      outputs = outputs_of(group, g);
      lowered = lower_group(group, outputs, storage, target_);
    }
    if (!lowered.in_place_is_safe) fail_internal("a parameter cannot be updated in place");
    add_step(group, std::move(lowered));
    // A result in the storage of another value is written as a buffer of its own.
    for (const int buffer : shared) {
      if (plan_.buffers[static_cast<std::size_t>(buffer)].alias_of >= 0) {
        plan_.steps.back().writes.push_back(buffer);
      }
    }
  }

  void add_step(const Group& group, LoweredGroup lowered) {
    plan::Step step = make_step(group);
    step.kernel = static_cast<int>(kernels_.size());
    step.buffers = std::move(lowered.storages);
    step.sizes = std::move(lowered.sizes);
    step.trip = lowered.trip;
    step.work = lowered.work;
    step.scratch = std::move(lowered.scratch);
    for (std::size_t i = 0; i < step.buffers.size(); ++i) {
      const auto role = lowered.kernel->buffers[i].role;
      if (role == kernel_ir::BufferRole::scratch) continue;
      if (role != kernel_ir::BufferRole::output) step.reads.push_back(step.buffers[i]);
      if (role != kernel_ir::BufferRole::input) step.writes.push_back(step.buffers[i]);
    }
    lowered.kernel->name = "k" + std::to_string(kernels_.size());
    kernels_.push_back(std::move(lowered.kernel));
    plan_.steps.push_back(std::move(step));
  }

  static plan::Step make_step(const Group& group) {
    plan::Step step;
    std::string layers, ops;
    std::string last_layer = "\n";
    for (const Op* op : group.ops) {
      if (op->location.layer != last_layer &&
          layers.find(op->location.layer) == std::string::npos) {
        layers += (layers.empty() ? "" : ", ") + op->location.layer;
      }
      last_layer = op->location.layer;
      const std::string source = op->location.str();
      if (std::find(step.sources.begin(), step.sources.end(), source) == step.sources.end()) {
        step.sources.push_back(source);
      }
      step.operations = step.operations + ops::Catalog::of(*op).flops(*op);
      if (!op->has(Trait::generator) && !op->has(Trait::view)) {
        ops += (ops.empty() ? "" : " ") + op->name();
      }
    }
    if (ops.empty()) ops = group.ops.back()->name();
    step.name = layers.empty() ? ops : layers + ": " + ops;
    return step;
  }

  // --- Library steps

  void add_library_step(const Group& group) {
    const Op& op = **std::find_if(group.ops.begin(), group.ops.end(),
                                  [](const Op* o) { return o->has(Trait::library); });
    plan::Step step = make_step(group);
    if (op.blocks.empty()) {
      step.library.kernel = ops::Catalog::of(op).library_kernel;
      step.library.attributes = op.attributes;
    } else {
      step.control = control_of(op, [this](const ir::Block& block) {
        nested_.push_back(compile_block_(block));
        return nested_.back().plan;
      });
    }
    if (op.has(Trait::makes_splits)) {
      const auto rows = Dim::parse(op.result()->type.splits_of)->symbol();
      if (rows && defined_.contains(*rows)) step.defines = *rows;
    }
    std::vector<const ir::Value*> operands(op.operands.begin(), op.operands.end());
    std::vector<const ir::Value*> results;
    for (const auto& result : op.results) results.push_back(result.get());
    if (group.ops.size() > 1) {
      const Epilogue epilogue = find_epilogue(program_, dependencies_, op);
      operands.push_back(epilogue.bias);
      set_attribute(step.library.attributes, "has_bias", true);
      if (epilogue.relu) {
        set_attribute(step.library.attributes, "epilogue", std::string("relu"));
      }
      results = {epilogue.result};
    }
    for (const ir::Value* operand : operands) {
      const int buffer = widened_buffer(group, operand);
      step.buffers.push_back(buffer);
      step.reads.push_back(buffer);
    }
    for (const ir::Value* result : results) {
      step.buffers.push_back(buffer_of(result));
      step.writes.push_back(buffer_of(result));
    }
    // A library kernel with a side effect updates its parameter in place.
    if (op.has(Trait::side_effect)) step.writes.push_back(buffer_of(op.operands[0]));
    plan_.steps.push_back(std::move(step));
  }

  // Returns the operand's buffer, or an f32 copy of it if it is stored in another type.
  int widened_buffer(const Group& group, const ir::Value* operand) {
    const int from = storage_of(operand);
    const DType type = plan_.buffers[static_cast<std::size_t>(from)].dtype;
    if (type == operand->type.dtype) return buffer_of(operand);
    const int to = static_cast<int>(plan_.buffers.size());
    plan_.buffers.push_back({.name = "wide " + display_name(operand),
                             .dtype = operand->type.dtype,
                             .shape = operand->type.shape});
    add_step(group, widen(from, type, to, product(operand->type.shape), target_));
    plan_.steps.back().name += " (widened)";
    return to;
  }

  // --- Finishing the Plan

  void set_lifetimes() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      for (const int buffer : plan_.steps[s].buffers) {
        if (buffer < 0) continue;
        plan::Buffer& root = plan_.buffers[static_cast<std::size_t>(plan::root_of(plan_, buffer))];
        if (root.first_step < 0) root.first_step = static_cast<int>(s);
        root.last_step = static_cast<int>(s);
      }
    }
  }

  void collect_symbols() {
    std::set<std::string> symbols;
    const auto add = [&](const Dim& dim) {
      for (const std::string& symbol : dim.symbols()) symbols.insert(symbol);
    };
    for (const plan::Buffer& buffer : plan_.buffers) {
      for (const Dim& dim : buffer.shape) add(dim);
    }
    for (const plan::Step& step : plan_.steps) {
      for (const Dim& dim : step.sizes) add(dim);
      add(step.trip.numerator);
      add(step.work);
      add_nested_symbols(step.control, symbols);
    }
    symbols.erase(plan::kSeedSymbol);
    plan_.symbols.assign(symbols.begin(), symbols.end());
  }

  // Adds the symbols that blocks use but do not define.
  static void add_nested_symbols(const plan::Control& control, std::set<std::string>& symbols) {
    for (const std::string& symbol : control.length.symbols()) symbols.insert(symbol);
    for (const plan::Nested& nested : control.blocks) {
      const std::vector<std::string> defined = plan::defined_symbols(*nested.plan);
      for (const std::string& symbol : nested.plan->symbols) {
        const bool own =
            std::find(defined.begin(), defined.end(), symbol) != defined.end() ||
            std::any_of(control.sizes.begin(), control.sizes.end(),
                        [&](const plan::Control::Size& size) { return size.symbol == symbol; });
        if (!own && symbol != plan::kSeedSymbol) symbols.insert(symbol);
      }
    }
  }

  const ir::Program& program_;
  const Dependencies& dependencies_;
  const std::vector<Group>& groups_;
  const codegen::Target& target_;
  const CompileBlock& compile_block_;
  NarrowStorage narrow_;
  std::set<std::string> defined_;  // symbols whose sizes are known only after some step
  std::vector<Assembly> nested_;
  std::unordered_map<const Op*, int> group_of_;
  std::unordered_map<const ir::Value*, int> buffer_of_;
  std::unordered_map<const ir::Value*, int> last_use_;
  plan::Plan plan_;
  std::vector<std::unique_ptr<kernel_ir::Kernel>> kernels_;
};

}  // namespace

Assembly assemble(const ir::Program& program, const Dependencies& dependencies,
                  const std::vector<Group>& groups, const codegen::Target& target,
                  const StorageOptions& storage, const CompileBlock& compile_block) {
  return Assembler(program, dependencies, groups, target, storage, compile_block).run();
}

}  // namespace trireme::compiler
