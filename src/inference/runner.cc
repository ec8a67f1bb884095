#include "inference/runner.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/philox.h"
#include "base/safetensors.h"
#include "inference/kernel_library.h"
#include "inference/target.h"
#include "trireme/ragged.h"

namespace trireme::inference {
namespace {

constexpr std::uint64_t kSeed = 1;  // as SessionOptions::seed

// The files of one model, whole and read together.
struct ModelBytes {
  std::string plan, constants, kernels;
};

ModelBytes read_model(const std::string& directory) {
  return read_folder(directory, [](const Folder& folder) {
    const CheckedFolder files(folder, kFormat);
    return ModelBytes{files.read(kPlanFile), files.read(kConstantsFile), files.read(kKernelsFile)};
  });
}

void check_machine(const std::string& directory, const std::string& target) {
  const std::string why = obstacle(target);
  if (why.empty()) return;
  const std::string here = native_target();
  fail_usage(fmt::format("{} cannot run on this machine: {}{}", directory, why,
                         here.empty() ? "" : "\n  hint   trireme compile MODEL --target " + here));
}

void check_library_kernels(const plan::Plan& plan, const std::string& path) {
  for (const plan::Step& step : plan.steps) {
    for (const plan::Nested& nested : step.control.blocks) {
      check_library_kernels(*nested.plan, path);
    }
    if (step.library.kernel.empty() || kernels::find_loop(step.library.kernel) != nullptr) continue;
    fail_data(fmt::format("{}: step '{}' wants the kernel \"{}\", which there is not", path,
                          step.name, step.library.kernel));
  }
}

// Also sets the kernels of blocks, whose Plans are copied.
void give_code(plan::Plan& plan, const KernelLibrary& library) {
  for (plan::Kernel& kernel : plan.kernels) kernel.run = library.find(kernel.symbol);
  for (plan::Step& step : plan.steps) {
    for (plan::Nested& nested : step.control.blocks) {
      auto with_code = std::make_shared<plan::Plan>(*nested.plan);
      give_code(*with_code, library);
      nested.plan = std::move(with_code);
    }
  }
}

}  // namespace

Runner::Runner(const std::string& directory, int threads) {
  const ModelBytes bytes = read_model(directory);
  const std::string plan_path = directory + "/" + kPlanFile;
  model_ = parse_model_file(bytes.plan, plan_path);
  check_machine(directory, model_.target);
  read_constants(bytes.constants, directory + "/" + kConstantsFile);
  auto plan = std::make_shared<plan::Plan>(model_.plan);
  check_library_kernels(*plan, plan_path);
  give_code(*plan, KernelLibrary(directory + "/" + kKernelsFile, bytes.kernels));
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
    fail_data(fmt::format("{}: {}", plan_path, error.what()));
  }
}

// All parameters of the Plan, each of the form that it wants.
void Runner::read_constants(const std::string& bytes, const std::string& path) {
  constants_ = parse_safetensors(bytes, path).tensors;
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
  const std::vector<std::string> defined = plan::defined_symbols(model_.plan);
  for (const std::string& symbol : model_.plan.symbols) {
    const bool later = std::find(defined.begin(), defined.end(), symbol) != defined.end();
    if (symbol != plan::kSeedSymbol && !later && !result.contains(symbol)) {
      fail_usage(fmt::format("{}: no feed tells the size of \"{}\"", model_.name, symbol));
    }
  }
  return result;
}

bool Runner::knows_shape(std::size_t output, const SymbolSizes& sizes) const {
  return is_known(model_.outputs[output].shape, sizes);
}

std::vector<std::int64_t> Runner::output_shape(std::size_t output, const SymbolSizes& sizes) const {
  return evaluate(model_.outputs[output].shape, sizes);
}

void Runner::check_splits_of(const SymbolSizes& sizes,
                             const std::map<std::string, const void*>& feeds) const {
  for (const CompiledModel::Port& input : model_.inputs) {
    const auto rows = sizes.find(input.splits_of);
    const auto feed = feeds.find(input.name);
    if (rows == sizes.end() || feed == feeds.end()) continue;
    const auto count = static_cast<std::size_t>(input.shape[0].evaluate(sizes));
    check_splits({static_cast<const std::int64_t*>(feed->second), count}, rows->second,
                 fmt::format("feed \"{}\"", input.name));
  }
}

void Runner::run(const SymbolSizes& sizes, const std::map<std::string, const void*>& feeds,
                 const std::vector<void*>& outputs) {
  check_splits_of(sizes, feeds);
  bindings_.feeds = feeds;
  bindings_.fetches = outputs;
  bindings_.seed = seed_of_run(kSeed, runs_);
  executor_->run(sizes, bindings_);
  ++runs_;
}

std::vector<std::int64_t> Runner::shape_after_run(std::size_t output) const {
  return executor_->shape_of_fetch(output);
}

const void* Runner::memory_after_run(std::size_t output) const {
  return executor_->memory_of_fetch(output);
}

}  // namespace trireme::inference
