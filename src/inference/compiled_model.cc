#include <cstring>

#include "inference/runner.h"
#include "trireme/inference.h"

namespace trireme {

struct CompiledModel::State {
  inference::Runner runner;
  std::vector<Tensor> last;  // results of the last run; reused once the caller let go
};

CompiledModel CompiledModel::load(const std::string& directory,
                                  const CompiledModelOptions& options) {
  return CompiledModel(
      std::unique_ptr<State>(new State{inference::Runner(directory, options.threads), {}}));
}

CompiledModel::CompiledModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompiledModel::CompiledModel(CompiledModel&&) noexcept = default;
CompiledModel& CompiledModel::operator=(CompiledModel&&) noexcept = default;
CompiledModel::~CompiledModel() = default;

const std::string& CompiledModel::name() const { return state_->runner.model().name; }
const std::string& CompiledModel::target() const { return state_->runner.model().target; }
const std::vector<CompiledModel::Port>& CompiledModel::inputs() const {
  return state_->runner.model().inputs;
}
const std::vector<CompiledModel::Port>& CompiledModel::outputs() const {
  return state_->runner.model().outputs;
}
const std::vector<std::string>& CompiledModel::labels() const {
  return state_->runner.model().labels;
}

std::vector<Tensor> CompiledModel::predict(const Feeds& feeds) {
  inference::Runner& runner = state_->runner;
  std::vector<FeedView> views;
  std::map<std::string, const void*> memory;
  for (const auto& [name, tensor] : feeds) {
    views.push_back({&name, tensor.dtype(), &tensor.shape()});
    memory.emplace(name, tensor.bytes());
  }
  const SymbolSizes sizes = runner.sizes(views);
  std::vector<void*> results;
  state_->last.resize(outputs().size());
  for (std::size_t i = 0; i < outputs().size(); ++i) {
    if (!runner.knows_shape(i, sizes)) {
      results.push_back(nullptr);
      continue;
    }
    Tensor& result = state_->last[i];
    const DType dtype = outputs()[i].dtype;
    const std::vector<std::int64_t> shape = runner.output_shape(i, sizes);
    if (result.shares_memory() || result.dtype() != dtype || result.shape() != shape ||
        result.bytes() == nullptr) {
      result = Tensor::uninitialized(dtype, shape);
    }
    results.push_back(result.bytes());
  }
  runner.run(sizes, memory, results);
  for (std::size_t i = 0; i < outputs().size(); ++i) {
    if (runner.knows_shape(i, sizes)) continue;
    Tensor& result = state_->last[i];
    result = Tensor::uninitialized(outputs()[i].dtype, runner.shape_after_run(i));
    if (result.size_bytes() == 0) continue;
    std::memcpy(result.bytes(), runner.memory_after_run(i), result.size_bytes());
  }
  return state_->last;
}

}  // namespace trireme
