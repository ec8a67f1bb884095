#include "distributed/strategy/data_parallel.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "distributed/server/client.h"
#include "distributed/strategy/check_training.h"
#include "ir/program.h"
#include "transforms/take_assigns.h"
#include "trireme/functions.h"
#include "trireme/ops.h"

namespace trireme::distributed {
namespace {

constexpr const char* kAdd = "data_parallel.add";
constexpr const char* kSettle = "data_parallel.settle";
constexpr const char* kTake = "data_parallel.take";
constexpr const char* kAverage = "data_parallel.average";
constexpr const char* kRows = ".rows";  // behind a parameter's name

// Missing rows are zeros.
Value dense(const ParameterGradient& one) {
  if (!one.gradient.rows) return one.gradient.values;
  return scatter_add(one.gradient.rows, one.gradient.values, {.rows = {one.parameter.dim(0)}});
}

std::string parameter_key(const Value& parameter) { return parameter.name().substr(1); }

// Counts the lookups of each row of the parameter.
Value lookups(const ParameterGradient& one) {
  const Value ones = cast(one.gradient.rows * 0.0 + 1.0, {.dtype = f32});
  return scatter_add(one.gradient.rows, ones, {.rows = {one.parameter.dim(0)}});
}

// Returns the numbers of the rows that any member looked up, and -1 for the others, so that
// optimizers leave those unchanged.
Value rows_of(const Program& program, const Value& lookups) {
  const Value numbers = iota(program, {.shape = lookups.shape()});
  return (numbers + 1.0) * cast(lookups > 0.0, {.dtype = i64}) - 1.0;
}

}  // namespace

DataParallel::DataParallel(Store& store, DataParallelOptions options, Program& program, Value batch)
    : store_(store),
      options_(std::move(options)),
      program_(program),
      batch_(batch),
      buckets_(
          {.bytes = options_.bucket_bytes, .how = Reduction::sum, .overlap = options_.overlap}) {
  if (!batch_ || batch_.rank() == 0) {
    fail_usage("data parallelism needs a value whose axis 0 is the batch");
  }
}

DataParallel::~DataParallel() = default;

// Adds each gradient to a bucket as soon as it exists. When all exist, the buckets are completed,
// and each gradient is read back. Statistics are exchanged in the same way and assigned at the end,
// but not in a step without examples. Gradients of rows are sent dense, together with which rows
// were looked up.
void DataParallel::exchange(std::vector<ParameterGradient>& gradients) {
  const Value count = dim_size(batch_, {.axes = {0}});
  std::vector<Value> added;
  const auto send = [&](const Value& value, const std::string& key) {
    added.push_back(
        host_call({value, count}, {.name = kAdd, .key = key, .dtype = i64, .early = true}));
  };
  std::vector<Value> looked_up;  // of each gradient that is of rows
  for (const Statistic& one : statistics_) send(one.next, parameter_key(one.parameter));
  for (ParameterGradient& one : gradients) {
    Value& g = one.gradient.values;
    if (g.dtype() != f32) {
      fail_usage("the gradient of " + one.parameter.str() +
                 " is not f32: other ones cannot be exchanged between processes");
    }
    looked_up.push_back(one.gradient.rows ? lookups(one) : Value());
    if (looked_up.back()) send(looked_up.back(), parameter_key(one.parameter) + kRows);
    g = dense(one);
    send(g, parameter_key(one.parameter));
  }
  const Value settled = host_call(added, {.name = kSettle, .dtype = i64});
  const auto receive = [&](const Value& value, const std::string& key) {
    return host_call({value, settled},
                     {.name = kTake, .key = key, .dtype = f32, .shape = value.shape()});
  };
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    nn::Gradient& g = gradients[i].gradient;
    const std::string key = parameter_key(gradients[i].parameter);
    g.values = receive(g.values, key);
    g.rows = looked_up[i] ? rows_of(program_, receive(looked_up[i], key + kRows)) : Value();
  }
  for (const Statistic& one : statistics_) {
    assign(one.parameter, host_call({one.next, settled}, {.name = kAverage,
                                                          .key = parameter_key(one.parameter),
                                                          .dtype = f32,
                                                          .shape = one.next.shape()}));
  }
}

void DataParallel::extend(TrainerOptions& options) {
  check_training(Distribution::Mode::all_reduce, options);
  for (const transforms::TakenAssign& one :
       transforms::take_assigns(program_.ir(), [](const ir::Parameter& parameter) {
         return !parameter.trainable && parameter.value->type.dtype == f32;
       })) {
    statistics_.push_back({Value(one.parameter), Value(one.value)});
  }
  options.exchange = [this](std::vector<ParameterGradient>& all) { exchange(all); };
  options.session.host[kAdd] = [this](const std::string& key, std::span<const HostTensor> operands,
                                      HostTensor& result) {
    add(key, operands);
    result.elements<std::int64_t>()[0] = 1;
  };
  options.session.host[kSettle] = [this](const std::string&, std::span<const HostTensor>,
                                         HostTensor& result) {
    settle();
    result.elements<std::int64_t>()[0] = 1;
  };
  options.session.host[kTake] = [this](const std::string& key, std::span<const HostTensor>,
                                       HostTensor& result) { take(key, result); };
  options.session.host[kAverage] = [this](const std::string& key, std::span<const HostTensor>,
                                          HostTensor& result) { average(key, result); };
}

void DataParallel::join(Trainer& trainer) {
  trainer_ = &trainer;
  group_ = std::make_unique<ElasticGroup>(
      store_, options_.group,
      ElasticState{.save = [this] { return state(); },
                   .restore = [this](std::span<const std::byte> bytes) { set_state(bytes); },
                   .found = options_.found},
      trainer.steps());
  const std::uint64_t own = std::hash<std::string>{}(options_.group.name);
  trainer.session().set_step(own >> 1);
}

double DataParallel::step(const data::Batch& batch, bool share) {
  for (;;) {
    members_ = group_->begin();
    if (std::exchange(entered_, members_->generation()) != members_->generation() &&
        options_.entered && !options_.entered()) {
      throw StaleGeneration("the group restarted, and the batch belongs to the previous group");
    }
    buckets_.begin(members_);
    places_.clear();
    counted_ = replaced_ = idle_ = false;
    share_ = share;
    try {
      return trainer_->step(batch);
    } catch (const Error&) {
      if (idle_) return 0;
      if (!replaced_) throw;
      ++repeated_;
    }
  }
}

std::int64_t DataParallel::steps() const { return group_ == nullptr ? 0 : group_->committed(); }
int DataParallel::members() const { return members_ == nullptr ? 0 : members_->size(); }

std::int64_t DataParallel::generation() const {
  return members_ == nullptr ? 0 : members_->generation();
}
std::int64_t DataParallel::breaks() const { return group_ == nullptr ? 0 : group_->breaks(); }

int DataParallel::rank() const { return members_ == nullptr ? 0 : members_->rank(); }

void DataParallel::add(const std::string& key, std::span<const HostTensor> operands) {
  if (!counted_) {
    count_ = share_ ? operands[1].elements<float>()[0] : 0;
    counted_ = true;
  }
  places_[key] = buckets_.add(operands[0].elements<float>(), count_);
}

void DataParallel::settle() {
  const std::size_t count = buckets_.add(std::span<const float>(&count_, 1), 1);
  const bool ours = group_->step([this](const std::shared_ptr<Group>& group) {
    buckets_.wait(group);
    members_ = group;
  });
  if (!ours) {
    replaced_ = true;
    fail(ErrorKind::internal, "the state of this member was replaced: its step ends here");
  }
  float total = 0;
  buckets_.take(count, {&total, 1}, 1);
  total_ = static_cast<std::int64_t>(total);
  idle_ = total_ == 0;
  // Gradients of zero would still change the state of an optimizer, and through it parameters.
  if (idle_)
    fail(ErrorKind::internal, "no member has examples: the step ends before the optimizer");
}

void DataParallel::take(const std::string& key, HostTensor& result) {
  buckets_.take(places_.at(key), result.elements<float>(), 1 / static_cast<float>(total_));
}

// Divided by the number of members, so that integers that are equal in all members stay equal.
void DataParallel::average(const std::string& key, HostTensor& result) {
  const std::span<float> values = result.elements<float>();
  buckets_.take(places_.at(key), values, 1);
  for (float& value : values) value /= static_cast<float>(total_);
}

// All parameters in their order, with those of the optimizer.
std::vector<std::byte> DataParallel::state() {
  std::vector<std::byte> bytes;
  for (const Value& parameter : program_.parameters()) {
    const Tensor value = trainer_->session().parameter(parameter_key(parameter));
    bytes.insert(bytes.end(), value.bytes(), value.bytes() + value.size_bytes());
  }
  return bytes;
}

std::size_t DataParallel::state_bytes() {
  std::size_t bytes = 0;
  for (const Value& parameter : program_.parameters()) {
    bytes += trainer_->session().parameter(parameter_key(parameter)).size_bytes();
  }
  return bytes;
}

void DataParallel::set_state(std::span<const std::byte> bytes) {
  for (const Value& parameter : program_.parameters()) {
    Tensor value = trainer_->session().parameter(parameter_key(parameter));
    if (bytes.size() < value.size_bytes()) {
      fail_data("another member's state is of another model: it is too short");
    }
    std::memcpy(value.bytes(), bytes.data(), value.size_bytes());
    bytes = bytes.subspan(value.size_bytes());
    trainer_->session().set_parameter(parameter_key(parameter), value);
  }
  if (!bytes.empty()) fail_data("another member's state is of another model: it is too long");
}

}  // namespace trireme::distributed
