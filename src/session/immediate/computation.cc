#include "session/immediate/computation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/feeds.h"
#include "compiler/compile.h"
#include "kernels/library.h"
#include "plan/plan.h"

namespace trireme::immediate {
namespace {

constexpr std::size_t kMostEntries = 512;

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

std::string name_of_number(std::size_t i) { return "number_" + std::to_string(i); }

void replace(ir::Block& block, const ir::Value* old, ir::Value* now) {
  for (const auto& op : block.ops) {
    std::replace(op->operands.begin(), op->operands.end(), const_cast<ir::Value*>(old), now);
    for (const auto& nested : op->blocks) replace(*nested, old, now);
  }
  std::replace(block.results.begin(), block.results.end(), const_cast<ir::Value*>(old), now);
}

// The values of a copy of the Program, found by the positions of their ops.
class Copy {
 public:
  explicit Copy(const ir::Program& program) : copy_(program.clone()) {
    const auto& ops = program.main().ops;
    for (std::size_t i = 0; i < ops.size(); ++i) positions_[ops[i].get()] = i;
  }

  ir::Program& program() { return *copy_; }
  ir::Op& of(const ir::Op& op) { return *copy_->main().ops[positions_.at(&op)]; }
  ir::Value* of(const ir::Value* value) {
    const auto index = static_cast<std::size_t>(value->index);
    if (value->producer == nullptr) return copy_->main().arguments[index].get();
    return of(*value->producer).results[index].get();
  }

 private:
  std::unique_ptr<ir::Program> copy_;
  std::unordered_map<const ir::Op*, std::size_t> positions_;
};

}  // namespace

device::Device& Engine::device() {
  if (device_ == nullptr) device_ = device::make_cpu_device();
  return *device_;
}

codegen::Codegen& Engine::code() {
  if (code_ == nullptr) {
    code_ = codegen::make_llvm_codegen(
        {.cache_directory = codegen::default_cache_directory(), .threads = device().threads()});
  }
  return *code_;
}

Computation::Computation(Engine& engine, const ir::Program& program,
                         const std::vector<const ir::Value*>& fetches,
                         std::vector<std::string> inputs)
    : engine_(engine), inputs_(std::move(inputs)) {
  for (const ir::Value* fetch : fetches) fetches_.push_back(fetch->type);
  std::shared_ptr<const plan::Plan> plan =
      compiler::compile(program, fetches, engine.code(), compiler::CompileOptions{});
  kernels_ = plan::count_kernels(*plan);
  executor_ = std::make_unique<runtime::Executor>(
      std::move(plan), engine.device(), runtime::ExecutorOptions{.find_kernel = kernels::find});
  ++engine.compiled;
}

std::vector<Tensor> Computation::run(const std::vector<Tensor>& inputs, std::uint64_t seed) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    bindings_.feeds[inputs_[i]] = inputs[i].bytes();
  }
  std::vector<Tensor> results(fetches_.size());
  bindings_.fetches.assign(fetches_.size(), nullptr);
  for (std::size_t i = 0; i < fetches_.size(); ++i) {
    if (!is_known(fetches_[i].shape, {})) continue;  // its memory is made after the run
    results[i] = Tensor::uninitialized(fetches_[i].dtype, evaluate(fetches_[i].shape, {}));
    bindings_.fetches[i] = results[i].bytes();
  }
  bindings_.seed = seed;
  executor_->run({}, bindings_);
  for (std::size_t i = 0; i < fetches_.size(); ++i) {
    if (is_known(fetches_[i].shape, {})) continue;
    results[i] = Tensor::uninitialized(fetches_[i].dtype, executor_->shape_of_fetch(i));
    if (results[i].size_bytes() == 0) continue;
    std::memcpy(results[i].bytes(), executor_->memory_of_fetch(i), results[i].size_bytes());
  }
  ++engine_.runs;
  engine_.kernels = kernels_;
  return results;
}

void Computations::compile(Entry& entry, const ir::Program& program, const Structure& structure,
                           const std::vector<const ir::Value*>& fetches) {
  std::vector<std::string> inputs;
  for (const ir::Value* input : structure.inputs) inputs.push_back(input->name);
  if (std::find(entry.open.begin(), entry.open.end(), true) == entry.open.end()) {
    entry.computation = std::make_unique<Computation>(engine_, program, fetches, std::move(inputs));
    return;
  }
  Copy copy(program);
  std::vector<const ir::Value*> same;
  for (const ir::Value* fetch : fetches) same.push_back(copy.of(fetch));
  for (std::size_t i = 0; i < entry.open.size(); ++i) {
    if (!entry.open[i]) continue;
    const ir::Value* constant = copy.of(structure.numbers[i]->result());
    inputs.push_back(name_of_number(i));
    ir::Value* number = copy.program().add_input(inputs.back(), constant->type);
    replace(copy.program().main(), constant, number);
    std::replace(same.begin(), same.end(), constant, static_cast<const ir::Value*>(number));
  }
  entry.computation =
      std::make_unique<Computation>(engine_, copy.program(), same, std::move(inputs));
}

void Computations::forget_oldest() {
  if (entries_.size() < kMostEntries) return;
  const auto oldest =
      std::min_element(entries_.begin(), entries_.end(),
                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
  entries_.erase(oldest);
}

std::vector<Tensor> Computations::run(const ir::Program& program,
                                      const std::vector<const ir::Value*>& fetches,
                                      const std::vector<Tensor>& tensors, std::uint64_t seed) {
  Structure structure = structure_of(program, fetches, std::move(key_memory_));
  auto found = entries_.find(structure.key);
  if (found == entries_.end()) {
    forget_oldest();
    found = entries_.emplace(structure.key, Entry()).first;
  }
  Entry& entry = found->second;
  entry.used = ++uses_;
  std::vector<double> numbers;
  for (const ir::Op* constant : structure.numbers) numbers.push_back(number_of(*constant));
  bool fits = entry.computation != nullptr;
  if (!fits) {
    entry.numbers = numbers;
    entry.open.assign(numbers.size(), false);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (entry.open[i] || same_bits(numbers[i], entry.numbers[i])) continue;
    entry.open[i] = true;
    fits = false;
  }
  if (!fits) {
    entry.computation.reset();
    compile(entry, program, structure, fetches);
  }
  std::vector<Tensor> inputs;
  for (const ir::Value* input : structure.inputs) {
    inputs.push_back(tensors[static_cast<std::size_t>(input->index)]);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!entry.open[i]) continue;
    inputs.push_back(
        Tensor::scalar<double>(numbers[i]).cast(structure.numbers[i]->result()->type.dtype));
  }
  key_memory_ = std::move(structure.key);
  return entry.computation->run(inputs, seed);
}

}  // namespace trireme::immediate
