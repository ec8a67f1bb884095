#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "ir/program.h"
#include "session/immediate/trace.h"
#include "trireme/array.h"

namespace trireme {

using immediate::recorder;
using immediate::Trace;

namespace {

// A function that was recorded for certain dtypes and shapes.
struct Recording {
  std::unique_ptr<immediate::Computation> computation;
  // What each input of the computation holds: an argument, or a Tensor that the function used.
  struct Input {
    std::optional<std::size_t> argument;
    Tensor tensor;
  };
  std::vector<Input> inputs;
  std::vector<std::size_t> results;  // places among the fetches
};

using Types = std::vector<std::pair<DType, std::vector<std::int64_t>>>;

Recording record(const ArraysFunction& f, const Types& types) {
  const auto trace = std::make_shared<Trace>(/*tracing=*/true);
  const immediate::TraceGuard guard(trace);
  std::vector<Array> arguments;
  for (const auto& [dtype, shape] : types) arguments.emplace_back(trace->argument(dtype, shape));
  const std::vector<Array> results = f(arguments);
  Recording made;
  std::vector<const ir::Value*> fetches;
  for (const Array& result : results) {
    const ir::Value* value = result.value().get();
    const auto known = std::find(fetches.begin(), fetches.end(), value);
    made.results.push_back(static_cast<std::size_t>(known - fetches.begin()));
    if (known == fetches.end()) fetches.push_back(value);
  }
  const immediate::Structure structure = immediate::structure_of(trace->program(), fetches);
  std::vector<std::string> names;
  for (const ir::Value* input : structure.inputs) {
    const auto index = static_cast<std::size_t>(input->index);
    names.push_back(input->name);
    // The arguments are the first inputs.
    if (index < types.size()) made.inputs.push_back({index, {}});
    else made.inputs.push_back({std::nullopt, trace->tensors()[index]});
  }
  made.computation = std::make_unique<immediate::Computation>(recorder().engine, trace->program(),
                                                              fetches, std::move(names));
  return made;
}

}  // namespace

struct Jit::State {
  ArraysFunction f;
  std::map<Types, Recording> recordings;
  std::thread::id thread = std::this_thread::get_id();
};

Jit::Jit(ArraysFunction f) : state_(std::make_unique<State>(State{std::move(f), {}})) {}
Jit::~Jit() = default;
Jit::Jit(Jit&&) noexcept = default;
Jit& Jit::operator=(Jit&&) noexcept = default;

std::vector<Array> Jit::operator()(const std::vector<Array>& arguments) {
  if (state_->thread != std::this_thread::get_id()) {
    fail_usage(
        "jit: another thread made this function\n  hint   call jit() in each thread that uses it");
  }
  if (recorder().current().inlines()) return state_->f(arguments);
  Types types;
  std::vector<Tensor> tensors;
  for (const Array& argument : arguments) {
    tensors.push_back(argument.tensor());
    types.emplace_back(tensors.back().dtype(), tensors.back().shape());
  }
  auto found = state_->recordings.find(types);
  if (found == state_->recordings.end()) {
    found = state_->recordings.emplace(types, record(state_->f, types)).first;
  }
  const Recording& recording = found->second;
  std::vector<Tensor> inputs;
  for (const Recording::Input& input : recording.inputs) {
    inputs.push_back(input.argument ? tensors[*input.argument] : input.tensor);
  }
  const std::vector<Tensor> computed = recording.computation->run(inputs, recorder().next_seed());
  std::vector<Array> results;
  for (const std::size_t place : recording.results) results.emplace_back(computed[place]);
  return results;
}

}  // namespace trireme
