#include "inference/runner.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/philox.h"
#include "base/safetensors.h"
#include "inference/kernel_library.h"
#include "inference/target.h"

namespace trireme::inference {
namespace {

constexpr std::uint64_t kSeed = 1;  // as SessionOptions::seed

ModelFile read_model(const CheckedFolder& folder) {
  return parse_model_file(folder.read(kPlanFile), folder.path(kPlanFile));
}

void check_machine(const std::string& directory, const std::string& target) {
  const std::string why = obstacle(target);
  if (why.empty()) return;
  const std::string here = native_target();
  fail_usage(fmt::format("{} cannot run on this machine: {}{}", directory, why,
                         here.empty() ? "" : "\n  hint   trireme compile MODEL --target " + here));
}

}  // namespace

Runner::Runner(const std::string& directory, int threads) {
  const CheckedFolder folder(directory, kFormat);
  model_ = read_model(folder);
  check_machine(directory, model_.target);
  read_constants(folder);
  auto plan = std::make_shared<plan::Plan>(model_.plan);
  load_kernels(folder, *plan);
  for (const plan::Buffer& buffer : plan->buffers) {
    if (buffer.kind == plan::BufferKind::feed && buffer.alias_of < 0) {
      needed_.push_back(buffer.name);
    }
  }
  device_ = device::make_cpu_device(threads);
  try {
    executor_ = std::make_unique<runtime::Executor>(std::move(plan), *device_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::internal) throw;
    fail_data(fmt::format("{}: {}", folder.path(kPlanFile), error.what()));
  }
}

// All parameters of the Plan, each of the form that it wants.
void Runner::read_constants(const CheckedFolder& folder) {
  const std::string path = folder.path(kConstantsFile);
  constants_ = parse_safetensors(folder.read(kConstantsFile), path).tensors;
  for (const plan::Buffer& buffer : model_.plan.buffers) {
    if (buffer.kind != plan::BufferKind::parameter || buffer.alias_of >= 0) continue;
    const auto found = constants_.find(buffer.name);
    if (found == constants_.end()) {
      fail_data(fmt::format("{}: \"{}\" is missing", path, buffer.name));
    }
    const Tensor& constant = found->second;
    if (constant.dtype() != buffer.dtype || constant.shape() != evaluate(buffer.shape, {})) {
      fail_data(fmt::format("{}: \"{}\" is {}, but {} wants {}{}", path, buffer.name,
                            constant.type_str(), kPlanFile, name_of(buffer.dtype),
                            str(buffer.shape)));
    }
    bindings_.parameters[buffer.name] = found->second.bytes();
  }
}

void Runner::load_kernels(const CheckedFolder& folder, plan::Plan& plan) const {
  for (const plan::Step& step : plan.steps) {
    if (!step.library.kernel.empty() && kernels::find_loop(step.library.kernel) == nullptr) {
      fail_data(fmt::format("{}: step '{}' wants the kernel \"{}\", which there is not",
                            folder.path(kPlanFile), step.name, step.library.kernel));
    }
  }
  folder.read(kKernelsFile);  // it is whole
  const KernelLibrary library(folder.path(kKernelsFile));
  for (plan::Kernel& kernel : plan.kernels) kernel.run = library.find(kernel.symbol);
}

SymbolSizes Runner::sizes(const std::vector<FeedView>& feeds) const {
  std::vector<InputView> inputs;
  for (const CompiledModel::Port& input : model_.inputs) {
    inputs.push_back({&input.name, input.dtype, &input.shape});
  }
  SymbolSizes result = bind_feeds(model_.name, inputs, feeds);
  for (const std::string& name : needed_) {
    const auto given = [&](const FeedView& feed) { return *feed.name == name; };
    if (std::none_of(feeds.begin(), feeds.end(), given)) {
      fail_usage(fmt::format("{}: the input \"{}\" is not fed", model_.name, name));
    }
  }
  for (const std::string& symbol : model_.plan.symbols) {
    if (symbol != plan::kSeedSymbol && !result.contains(symbol)) {
      fail_usage(fmt::format("{}: no feed tells the size of \"{}\"", model_.name, symbol));
    }
  }
  return result;
}

std::vector<std::int64_t> Runner::output_shape(std::size_t output, const SymbolSizes& sizes) const {
  return evaluate(model_.outputs[output].shape, sizes);
}

void Runner::run(const SymbolSizes& sizes, const std::map<std::string, const void*>& feeds,
                 const std::vector<void*>& outputs) {
  bindings_.feeds = feeds;
  bindings_.fetches = outputs;
  bindings_.seed = seed_of_run(kSeed, runs_);
  executor_->run(sizes, bindings_);
  ++runs_;
}

}  // namespace trireme::inference
