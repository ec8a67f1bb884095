#include "trireme/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "base/feeds.h"
#include "base/file.h"
#include "base/philox.h"
#include "codegen/codegen.h"
#include "compiler/compile.h"
#include "device/device.h"
#include "kernels/library.h"
#include "nn/updates.h"
#include "runtime/executor.h"
#include "runtime/finite.h"
#include "runtime/limits.h"
#include "session/run/parameters.h"
#include "session/run/storage.h"
#include "trireme/ragged.h"

namespace trireme {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// One compiled set of fetches in one mode.
struct Entry {
  std::vector<Value> fetches;
  RunOptions mode;
  std::vector<std::string> frozen;  // parameters that its updates leave unchanged
  std::size_t program_ops = 0;      // a Program that has grown since may have new updates to run
  std::shared_ptr<const plan::Plan> plan;
  std::unique_ptr<runtime::Executor> executor;
  runtime::Bindings bindings;
  std::vector<const ir::Value*> feeds;  // inputs that the Plan reads
  // What the Plan reads besides: made of parameters, again when they have changed.
  std::unique_ptr<runtime::Executor> preparation;
  runtime::Bindings preparation_bindings;
  std::vector<Tensor> prepared;
  std::uint64_t prepared_version = 0;  // of the parameters; 0: never
  std::vector<std::string> defined;    // symbols whose sizes the run tells
  std::vector<Tensor> last;            // results of the last run; reused once the caller let go
  SymbolSizes last_sizes;
};

void check_precision(Precision precision, const RunOptions& mode) {
  if (precision != Precision::f16 || !mode.updates) return;
  fail_usage(
      "run: precision f16 is for inference: gradients vanish below 6e-8\n"
      "  hint   train with bf16 or f32, and predict with f16");
}

bool same_mode(const RunOptions& a, const RunOptions& b) {
  return a.training == b.training && a.updates == b.updates && a.update == b.update &&
         a.check_finite == b.check_finite;
}

SymbolSizes sizes_of(const ir::Program& program, const Feeds& feeds) {
  std::vector<InputView> inputs;
  for (const auto& argument : program.main().arguments) {
    inputs.push_back({&argument->name, argument->type.dtype, &argument->type.shape});
  }
  std::vector<FeedView> views;
  for (const auto& [name, tensor] : feeds) {
    views.push_back({&name, tensor.dtype(), &tensor.shape()});
  }
  SymbolSizes sizes = bind_feeds(program.name, inputs, views);
  for (const auto& argument : program.main().arguments) {
    const auto rows = sizes.find(argument->type.splits_of);
    const auto feed = feeds.find(argument->name);
    if (rows == sizes.end() || feed == feeds.end()) continue;
    check_splits(feed->second, rows->second, "feed \"" + argument->name + "\"");
  }
  return sizes;
}

// What moves a missing size into sight: the inputs that would tell it.
[[noreturn]] void fail_missing_symbol(const ir::Program& program, const std::string& symbol) {
  std::vector<std::string> inputs;
  for (const auto& argument : program.main().arguments) {
    for (const Dim& dim : argument->type.shape) {
      if (dim.symbol() == symbol) inputs.push_back(argument->name);
    }
  }
  fail_usage(
      fmt::format("the size of \"{}\" is not known: feed {}", symbol, fmt::join(inputs, " or ")));
}

}  // namespace

struct Session::State {
  State(const Program& program, SessionOptions options,
        const std::shared_ptr<ParameterStore>& other = nullptr)
      : options(std::move(options)),
        shared(program.shared_ir()),
        program(*shared),
        shared_limits(std::make_shared<runtime::Limits>(this->options.max_bytes,
                                                        this->options.max_operations)),
        limits(*shared_limits),
        shared_parameters(other == nullptr ? std::make_shared<ParameterStore>(
                                                 shared, this->options.seed, shared_limits)
                                           : std::make_shared<ParameterStore>(
                                                 shared, this->options.seed, shared_limits, other)),
        parameters(*shared_parameters) {
    if (this->options.profile.empty()) this->options.profile = environment("TRIREME_PROFILE");
    cpu = device::make_cpu_device(this->options.threads);
    device = cpu.get();
    if (this->options.max_bytes > 0) {
      limited = runtime::limited_device(*cpu, limits);
      device = limited.get();
    }
    if (!this->options.profile.empty()) profiler = std::make_unique<runtime::Profiler>();
  }

  ~State() {
    if (profiler == nullptr) return;
    try {
      write_file_atomically(options.profile, profiler->chrome_trace());
    } catch (const Error& error) {
      std::fprintf(stderr, "warning: the profile is lost: %s\n", error.what());
    }
  }

  Entry& entry(const std::vector<Value>& fetches, const RunOptions& mode);
  std::unique_ptr<Entry> compile(const std::vector<Value>& fetches, const RunOptions& mode);
  std::unique_ptr<runtime::Executor> make_executor(std::shared_ptr<const plan::Plan> plan,
                                                   const RunOptions& mode);
  void bind_parameters(Entry& entry);
  void add_preparation(Entry& entry, const compiler::PreparedPlans& plans);
  void prepare(Entry& entry);
  void bind(Entry& entry, const Feeds& feeds, const SymbolSizes& sizes);
  codegen::Codegen& code();
  std::vector<std::string> frozen_in(const RunOptions& mode) const {
    return mode.updates ? frozen : std::vector<std::string>();
  }

  SessionOptions options;
  std::shared_ptr<const ir::Program> shared;
  const ir::Program& program;  // *shared
  std::shared_ptr<runtime::Limits> shared_limits;
  runtime::Limits& limits;  // *shared_limits
  std::shared_ptr<ParameterStore> shared_parameters;
  ParameterStore& parameters;                    // *shared_parameters
  std::vector<std::string> frozen;               // names of parameters, sorted
  std::unique_ptr<device::Device> cpu, limited;  // the second counts memory of the first
  device::Device* device = nullptr;              // one of them
  std::unique_ptr<codegen::Codegen> codegen;
  std::unique_ptr<runtime::Profiler> profiler;
  std::vector<std::unique_ptr<Entry>> entries;  // few: searched one by one
  Entry* last_entry = nullptr;
  SessionStatistics statistics;
  std::uint64_t step = 0;
};

codegen::Codegen& Session::State::code() {
  if (codegen == nullptr) {
    codegen =
        options.interpreter
            ? codegen::make_interpreter()
            : codegen::make_llvm_codegen({.cache_directory = codegen::default_cache_directory(),
                                          .threads = device->threads()});
  }
  return *codegen;
}

std::unique_ptr<Entry> Session::State::compile(const std::vector<Value>& fetches,
                                               const RunOptions& mode) {
  const auto start = std::chrono::steady_clock::now();
  check_precision(options.precision, mode);
  for (const std::string& name : mode.update) ir::require_updates(program, name, "run");
  std::vector<const ir::Value*> values;
  for (const Value& fetch : fetches) {
    if (!fetch || fetch.get()->program != &program) {
      fail_usage("run: a value to fetch is empty or belongs to another Program");
    }
    values.push_back(fetch.get());
  }
  compiler::CompileOptions compile_options{.training = mode.training,
                                           .updates = mode.updates,
                                           .update = mode.update,
                                           .frozen = frozen_in(mode),
                                           .fuse = options.fuse,
                                           .libraries = options.libraries,
                                           .storage = storage_of(options.precision)};
  if (const std::string directory = environment("TRIREME_DUMP"); !directory.empty()) {
    compile_options.dump_directory = fmt::format("{}/plan{}_{}", directory, statistics.plans,
                                                 mode.updates    ? "update"
                                                 : mode.training ? "training"
                                                                 : "inference");
  }
  auto entry = std::make_unique<Entry>();
  entry->fetches = fetches;
  entry->mode = mode;
  entry->frozen = frozen_in(mode);
  entry->program_ops = program.main().ops.size();
  compiler::PreparedPlans plans;
  if (mode.updates) {
    plans.plan = compiler::compile(program, values, code(), compile_options);
  } else {
    plans = compiler::compile_prepared(program, values, code(), code(), compile_options);
  }
  entry->plan = plans.plan;
  entry->defined = plan::defined_symbols(*entry->plan);
  entry->executor = make_executor(entry->plan, mode);
  if (plans.preparation != nullptr) add_preparation(*entry, plans);
  bind_parameters(*entry);
  statistics.plans += 1;
  statistics.kernels += plan::count_kernels(*entry->plan);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  statistics.compile_ms += spent.count();
  return entry;
}

std::unique_ptr<runtime::Executor> Session::State::make_executor(
    std::shared_ptr<const plan::Plan> plan, const RunOptions& mode) {
  return std::make_unique<runtime::Executor>(
      std::move(plan), *device,
      runtime::ExecutorOptions{.plan_memory = options.plan_memory,
                               .profiler = profiler.get(),
                               .check_finite = mode.check_finite,
                               .limits = options.max_operations > 0 ? &limits : nullptr,
                               .find_kernel = [this](const std::string& name) {
                                 return name == "host_call" ? kernels::host_calls(options.host)
                                                            : kernels::find(name);
                               }});
}

void Session::State::add_preparation(Entry& entry, const compiler::PreparedPlans& plans) {
  const plan::Plan& plan = *plans.preparation;
  entry.preparation = make_executor(plans.preparation, entry.mode);
  statistics.kernels += static_cast<int>(plan.kernels.size());
  for (const plan::Buffer& buffer : plan.buffers) {
    if (buffer.kind != plan::BufferKind::parameter) continue;
    entry.preparation_bindings.parameters[buffer.name] =
        parameters.get(find_parameter(program, buffer.name)).bytes();
  }
  for (std::size_t i = 0; i < plans.names.size(); ++i) {
    const plan::Buffer& buffer = plan.buffers[static_cast<std::size_t>(plan.fetches[i])];
    entry.prepared.push_back(Tensor::uninitialized(buffer.dtype, evaluate(buffer.shape, {})));
    entry.preparation_bindings.fetches.push_back(entry.prepared.back().bytes());
    entry.bindings.parameters[plans.names[i]] = entry.prepared.back().bytes();
  }
}

void Session::State::prepare(Entry& entry) {
  if (entry.preparation == nullptr || entry.prepared_version == parameters.version()) return;
  entry.preparation->run({}, entry.preparation_bindings);
  entry.prepared_version = parameters.version();
}

void Session::State::bind_parameters(Entry& entry) {
  for (const plan::Buffer& buffer : entry.plan->buffers) {
    if (entry.bindings.parameters.contains(buffer.name)) continue;  // prepared
    if (buffer.kind == plan::BufferKind::parameter) {
      entry.bindings.parameters[buffer.name] =
          parameters.get(find_parameter(program, buffer.name)).bytes();
    } else if (buffer.kind == plan::BufferKind::feed) {
      for (const auto& argument : program.main().arguments) {
        if (argument->name == buffer.name) entry.feeds.push_back(argument.get());
      }
    }
  }
}

Entry& Session::State::entry(const std::vector<Value>& fetches, const RunOptions& mode) {
  for (const auto& known : entries) {
    if (known->fetches == fetches && same_mode(known->mode, mode) &&
        (!mode.updates || known->frozen == frozen) &&
        known->program_ops == program.main().ops.size()) {
      return *known;
    }
  }
  entries.push_back(compile(fetches, mode));
  return *entries.back();
}

void Session::State::bind(Entry& entry, const Feeds& feeds, const SymbolSizes& sizes) {
  for (const ir::Value* input : entry.feeds) {
    const auto feed = feeds.find(input->name);
    if (feed == feeds.end()) {
      fail_usage(fmt::format("run: input \"{}\" : {} is needed for what is fetched, and not fed",
                             input->name, input->type.str()));
    }
    entry.bindings.feeds[input->name] = feed->second.bytes();
  }
  for (const std::string& symbol : entry.plan->symbols) {
    const bool later =
        std::find(entry.defined.begin(), entry.defined.end(), symbol) != entry.defined.end();
    if (symbol != plan::kSeedSymbol && !later && !sizes.contains(symbol)) {
      fail_missing_symbol(program, symbol);
    }
  }
  entry.last.resize(entry.fetches.size());
  entry.bindings.fetches.resize(entry.fetches.size());
  for (std::size_t i = 0; i < entry.fetches.size(); ++i) {
    const Value& value = entry.fetches[i];
    if (!is_known(value.shape(), sizes)) {
      entry.bindings.fetches[i] = nullptr;  // its memory is made after the run
      continue;
    }
    const std::vector<std::int64_t> shape = evaluate(value.shape(), sizes);
    Tensor& result = entry.last[i];
    if (result.shares_memory() || result.dtype() != value.dtype() || result.shape() != shape ||
        result.bytes() == nullptr) {
      limits.check(value.dtype(), shape);
      result = Tensor::uninitialized(value.dtype(), shape);
    }
    entry.bindings.fetches[i] = result.bytes();
  }
  entry.bindings.seed = seed_of_run(options.seed, step);
}

namespace {

// With check_finite, an error names the first feed that has NaN or infinity before the layer.
void run_checked(runtime::Executor& executor, const SymbolSizes& sizes,
                 const runtime::Bindings& bindings, const Feeds& feeds, const RunOptions& options) {
  try {
    executor.run(sizes, bindings);
  } catch (const Error& error) {
    if (!options.check_finite || error.kind() != ErrorKind::numeric) throw;
    for (const auto& [name, tensor] : feeds) {
      const auto bytes = static_cast<std::int64_t>(tensor.size_bytes());
      const std::string found = runtime::first_not_finite(tensor.dtype(), tensor.bytes(), bytes);
      if (found.empty()) continue;
      fail(ErrorKind::numeric,
           fmt::format("feed \"{}\" has {}\n  then   {}", name, found, error.what()));
    }
    throw;
  }
}

}  // namespace

const ir::Program& SessionAccess::program(const Session& session) {
  return session.state_->program;
}
ParameterStore& SessionAccess::parameters(const Session& session) {
  return session.state_->parameters;
}

Session::Session(const Program& program, SessionOptions options)
    : state_(std::make_unique<State>(program, std::move(options))) {}
Session::Session(const Program& program, SessionOptions options, const Session& other)
    : state_(
          std::make_unique<State>(program, std::move(options), other.state_->shared_parameters)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::vector<Tensor> Session::run(const Feeds& feeds, const std::vector<Value>& fetches,
                                 RunOptions options) {
  const SymbolSizes sizes = sizes_of(state_->program, feeds);
  options.updates = options.updates || !options.update.empty();
  Entry& entry = state_->entry(fetches, options);
  state_->bind(entry, feeds, sizes);
  state_->last_entry = &entry;
  state_->limits.begin_run();
  state_->prepare(entry);
  if (options.updates) state_->parameters.changed();
  run_checked(*entry.executor, sizes, entry.bindings, feeds, options);
  for (std::size_t i = 0; i < entry.fetches.size(); ++i) {
    if (is_known(entry.fetches[i].shape(), sizes)) continue;
    entry.last[i] =
        Tensor::uninitialized(entry.fetches[i].dtype(), entry.executor->shape_of_fetch(i));
    if (entry.last[i].size_bytes() > 0) {
      std::memcpy(entry.last[i].bytes(), entry.executor->memory_of_fetch(i),
                  entry.last[i].size_bytes());
    }
  }
  entry.last_sizes = sizes;
  ++state_->step;
  return entry.last;
}

MemoryReport Session::memory(const std::vector<Value>& fetches, RunOptions options,
                             const SymbolSizes& given) {
  options.updates = options.updates || !options.update.empty();
  const Entry& entry = state_->entry(fetches, options);
  const plan::Plan& plan = *entry.plan;
  SymbolSizes sizes = given;
  for (const std::string& symbol : entry.defined) sizes.emplace(symbol, 0);
  for (const std::string& symbol : plan.symbols) {
    if (symbol != plan::kSeedSymbol && !sizes.contains(symbol)) {
      fail_usage("memory: the size of \"" + symbol + "\" is not given");
    }
  }
  MemoryReport report;
  report.kernels = plan::count_kernels(plan);
  report.library_calls = plan::count_library_calls(plan);
  const plan::Placement placement = plan::place(plan, sizes, state_->options.plan_memory);
  report.arena_bytes = placement.arena_bytes;
  report.sum_of_values = placement.sum_of_values;
  report.program_bytes = plan.program_bytes.evaluate(sizes);
  for (const plan::Buffer& buffer : plan.buffers) {
    if (buffer.kind != plan::BufferKind::parameter || buffer.alias_of >= 0) continue;
    report.parameter_bytes +=
        product(buffer.shape).evaluate(sizes) * static_cast<std::int64_t>(size_of(buffer.dtype));
  }
  return report;
}

Tensor Session::parameter(std::string_view name) {
  return state_->parameters.get(find_parameter(state_->program, name)).clone();
}

void Session::set_parameter(std::string_view name, const Tensor& value) {
  state_->parameters.set(find_parameter(state_->program, name), value);
}

double Session::learning_rate(std::string_view name) {
  const ir::Program& program = state_->program;
  ir::require_updates(program, name, "learning_rate");
  const ir::UpdateSet* set = ir::find_updates(program, name);
  if (set != nullptr && set->rate == nullptr) return set->constant_rate;
  if (set == nullptr) {
    const ir::Parameter* rate = program.find_parameter(nn::counter_name(name, nn::kRate));
    if (rate != nullptr) return state_->parameters.get(*rate).item<double>();
    fail_usage("learning_rate: the Program was parsed, and its text does not say what its rate is");
  }
  // The Program computes the rate of the next update from its counter.
  const std::uint64_t step = state_->step;
  Entry* const last = state_->last_entry;
  const double rate = run({}, {Value(set->rate)})[0].item<double>();
  state_->step = step;
  state_->last_entry = last;
  return rate;
}

void Session::set_learning_rate(double rate, std::string_view name) {
  const ir::Program& program = state_->program;
  ir::require_updates(program, name, "set_learning_rate");
  const ir::UpdateSet* set = ir::find_updates(program, name);
  const bool positive = set != nullptr && set->divides_by_rate;
  if (!std::isfinite(rate) || rate < 0 || (positive && rate == 0)) {
    fail_usage(fmt::format("set_learning_rate: the rate is {}, must be finite and {}", rate,
                           positive ? "above 0" : "at least 0"));
  }
  const auto put = [&](const ir::Parameter* parameter, double value) {
    state_->parameters.set(*parameter, Tensor::scalar<double>(value));
  };
  if (const auto* constant = program.find_parameter(nn::counter_name(name, nn::kRate))) {
    put(constant, rate);
    return;
  }
  const auto* factor = program.find_parameter(nn::counter_name(name, nn::kFactor));
  if (factor == nullptr) {
    fail_usage(
        "set_learning_rate: the rate of these updates is fixed\n"
        "  hint   minimize(loss, optimizer, {.adjustable_rate = true})");
  }
  const Tensor before = state_->parameters.get(*factor).clone();
  put(factor, 1);
  const double planned = learning_rate(name);
  if (planned == 0 && rate != 0) {
    put(factor, before.item<double>());
    fail_usage(
        "set_learning_rate: the schedule's rate of the next update is 0, so that no factor makes "
        "it another");
  }
  put(factor, planned == 0 ? 1 : rate / planned);
}

namespace {

// The names of the trainable parameters that match, sorted.
std::vector<std::string> trainable(const ir::Program& program, std::string_view pattern) {
  std::vector<std::string> all, matching;
  for (const auto& parameter : program.parameters()) {
    if (!parameter->trainable) continue;
    all.push_back(parameter->name());
    if (ir::matches(pattern, parameter->name())) matching.push_back(parameter->name());
  }
  if (matching.empty()) {
    const std::string near = nearest(std::string(pattern), all);
    fail(ErrorKind::not_found,
         fmt::format("{} has no trainable parameter \"{}\"{}", program.name, pattern,
                     near.empty() ? "" : "; did you mean \"" + near + "\"?"));
  }
  std::sort(matching.begin(), matching.end());
  return matching;
}

// The average of a parameter that did not change is the parameter.
void restart_averages(const ir::Program& program, ParameterStore& parameters,
                      const std::string& name) {
  const Tensor value = parameters.get(find_parameter(program, name));
  for (const std::string& set : ir::names_of_updates(program)) {
    for (const char* state : {".average", ".average_window", ".schedule_free"}) {
      const ir::Parameter* average = program.find_parameter(nn::state_prefix(set) + name + state);
      if (average != nullptr) parameters.set(*average, value);
    }
  }
}

}  // namespace

int Session::freeze(std::string_view pattern) {
  const std::vector<std::string> chosen = trainable(state_->program, pattern);
  std::vector<std::string> all;
  std::set_union(state_->frozen.begin(), state_->frozen.end(), chosen.begin(), chosen.end(),
                 std::back_inserter(all));
  state_->frozen = std::move(all);
  return static_cast<int>(chosen.size());
}

int Session::unfreeze(std::string_view pattern) {
  const std::vector<std::string> chosen = trainable(state_->program, pattern);
  std::vector<std::string> rest;
  std::set_difference(state_->frozen.begin(), state_->frozen.end(), chosen.begin(), chosen.end(),
                      std::back_inserter(rest));
  for (const std::string& name : chosen) {
    if (std::binary_search(state_->frozen.begin(), state_->frozen.end(), name)) {
      restart_averages(state_->program, state_->parameters, name);
    }
  }
  state_->frozen = std::move(rest);
  return static_cast<int>(chosen.size());
}

std::vector<std::string> Session::frozen() const { return state_->frozen; }

std::uint64_t Session::step() const { return state_->step; }
void Session::set_step(std::uint64_t step) { state_->step = step; }
const SessionOptions& Session::options() const { return state_->options; }
int Session::threads() const { return state_->device->threads(); }

SessionStatistics Session::statistics() const {
  SessionStatistics result = state_->statistics;
  if (state_->codegen != nullptr) {
    result.kernels_compiled = state_->codegen->statistics().compiled;
    result.kernels_cached = state_->codegen->statistics().cached;
  }
  if (state_->profiler != nullptr) result.operations = state_->profiler->operations();
  if (const Entry* entry = state_->last_entry) {
    result.arena_bytes = entry->executor->arena_bytes();
    result.sum_of_values = plan::place(*entry->plan, entry->last_sizes).sum_of_values;
  }
  return result;
}

std::string Session::profile_table() const {
  return state_->profiler == nullptr ? "" : state_->profiler->table();
}

}  // namespace trireme
