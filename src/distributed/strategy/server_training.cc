#include "distributed/strategy/server_training.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "distributed/strategy/check_training.h"
#include "ir/program.h"
#include "nn/updates.h"
#include "transforms/rewrite.h"
#include "trireme/ops.h"
#include "trireme/sequence.h"

namespace trireme::distributed {
namespace {

constexpr const char* kLookUp = "servers.look_up";
constexpr const char* kPushRows = "servers.push_rows";
constexpr const char* kPushDense = "servers.push_dense";
constexpr const char* kPushCounts = "servers.push_counts";

std::string dense_key(const Value& parameter) { return parameter.name().substr(1); }

Distribution::Mode job_mode(Mode mode) {
  switch (mode) {
    case Mode::asynchronous: return Distribution::Mode::asynchronous;
    case Mode::synchronous: return Distribution::Mode::synchronous;
    case Mode::geo: break;
  }
  return Distribution::Mode::geo;
}

// Of the parameter alone; multiplied by that of the optimizer.
double rate_of(const Program& program, const Value& parameter) {
  return program.ir().parameter_of(parameter.get()).settings.learning_rate;
}

// Initializes new rows of the table with the initializer of the parameter.
RowInitializer initializer_of(const ir::Parameter& parameter) {
  const Initializer& from = parameter.initializer;
  const auto number = [&](const char* name) {
    return get_attribute<double>(from.attributes, name);
  };
  if (from.name == "normal") return RowInitializer::normal(number("mean"), number("stddev"));
  if (from.name == "uniform") return RowInitializer::uniform(number("low"), number("high"));
  if (from.name == "constant" && number("value") == 0) return RowInitializer::zeros();
  fail_usage("rows of the table " + parameter.name() + " cannot be made by \"" + from.name +
             "\"\n  hint   weight_init may be normal, uniform or zeros");
}

bool is_gather_of(const ir::Op& op, const ir::Value* table) {
  return op.name() == "gather" && op.operands[0] == table;
}

bool is_lookup_of(const ir::Op& op, const std::string& key) {
  return op.name() == "host_call" && get_attribute<std::string>(op.attributes, "name") == kLookUp &&
         get_attribute<std::string>(op.attributes, "key") == key;
}

// The input that has a number for each example, or for each row of its sequence, that looks up ids.
// Errors: usage.
Value clicks_of(const Program& program, const std::string& name, const std::string& table,
                const Value& ids) {
  const std::vector<Value> inputs = program.inputs();
  const auto input = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const Value& one) { return one.name() == "%" + name; });
  if (input == inputs.end()) {
    std::string known;
    for (const Value& one : inputs) known += (known.empty() ? "" : ", ") + one.name().substr(1);
    fail_usage("clicks must come from \"" + name + "\", which is no input; there are " + known);
  }
  bool one_each = input->rank() > 0;
  for (int axis = 1; axis < input->rank(); ++axis) one_each &= input->dim(axis) == Dim(1);
  if (!one_each) {
    fail_usage("clicks must come from " + input->str() +
               ", which is not a number for each example");
  }
  const Value clicks = cast(*input, {.dtype = f32});
  if (ids.rank() > 0 && ids.dim(0) == clicks.dim(0)) return clicks;
  if (ids.rank() > 0 && ir::find_splits(program.ir().main(), ids.dim(0)) != nullptr) {
    return sequence::expand(clicks, ids);
  }
  fail_usage(
      "the table " + table + " is looked up by " + ids.str() +
      ", which is not by example along axis 0: so it is not known which of these are clicks");
}

// Returns the ids that name a row; negative ids name none.
std::vector<Id> named(std::span<const std::int64_t> ids) {
  std::vector<Id> result;
  for (const std::int64_t id : ids) {
    if (id >= 0) result.push_back(static_cast<Id>(id));
  }
  return result;
}

// Copies the rows of ids that name one, in their order, to the places of the ids; the others get
// zeros.
void spread_rows(const float* from, std::size_t width, std::span<const std::int64_t> ids,
                 float* to) {
  for (const std::int64_t id : ids) {
    if (id >= 0) {
      std::copy_n(from, width, to);
      from += width;
    } else {
      std::fill_n(to, width, 0.0f);
    }
    to += width;
  }
}

}  // namespace

void set_optimizer(ServerTrainingOptions& options, const Optimizer& optimizer) {
  if (const auto* sgd = std::get_if<Sgd>(&optimizer)) {
    options.rule = RowRule::sgd();
    options.rate = sgd->learning_rate;
  } else if (const auto* adagrad = std::get_if<Adagrad>(&optimizer)) {
    options.rule = RowRule::adagrad(adagrad->initial, adagrad->epsilon);
    options.rate = adagrad->learning_rate;
  } else if (const auto* adam = std::get_if<Adam>(&optimizer)) {
    if (adam->amsgrad) fail_usage("adam on parameter servers has no amsgrad");
    options.rule = RowRule::adam(adam->beta1, adam->beta2, adam->epsilon);
    options.rate = adam->learning_rate;
  } else if (const auto* ftrl = std::get_if<Ftrl>(&optimizer)) {
    options.rule = RowRule::ftrl(ftrl->beta, ftrl->l1, ftrl->l2, ftrl->initial);
    options.rate = ftrl->learning_rate;
  } else {
    fail_usage("parameter servers have the optimizers sgd, adagrad, adam and ftrl alone");
  }
}

ServerTraining::ServerTraining(ParameterClient& client, ServerTrainingOptions options,
                               Program& program)
    : client_(client), options_(std::move(options)), program_(program) {}

ServerTraining::~ServerTraining() = default;

std::vector<std::string> ServerTraining::tables() const {
  std::vector<std::string> names;
  for (const auto& [name, table] : tables_) names.push_back(name);
  return names;
}

std::vector<std::string> ServerTraining::dense() const {
  std::vector<std::string> names;
  for (const auto& [name, dense] : dense_) names.push_back(name);
  return names;
}

std::uint64_t ServerTraining::table_bytes(const std::string& name) const {
  const Table& table = tables_.at(name);
  return static_cast<std::uint64_t>(table.rows) * static_cast<std::uint64_t>(table.options.width) *
         sizeof(float);
}

Tensor ServerTraining::read_table(const std::string& name) {
  constexpr std::int64_t kAtOnce = 1 << 16;
  const Table& table = tables_.at(name);
  Tensor all(f32, {table.rows, table.options.width});
  for (std::int64_t first = 0; first < table.rows; first += kAtOnce) {
    std::vector<Id> ids;
    for (std::int64_t id = first; id < std::min(first + kAtOnce, table.rows); ++id) {
      ids.push_back(static_cast<Id>(id));
    }
    client_.lookup(table.number, ids, all.data<float>() + first * table.options.width, Create::no);
  }
  return all;
}

void ServerTraining::gather_tables() {
  for (const auto& [key, table] : tables_) {
    const Tensor rows = read_table(key);
    ir::Value* const parameter = program_.ir().add_parameter(
        key, {f32, {table.rows, table.options.width}}, table.initializer, /*trainable=*/false, {});
    transforms::rewrite(program_.ir(), [&](ir::Builder& b, ir::Op& op) -> transforms::Replacement {
      if (!is_lookup_of(op, key)) return std::nullopt;
      return {{b.make("gather", {parameter, op.operands[0]}, {{"sparse_gradient", true}})}};
    });
    trainer_->session().set_parameter(key, rows);
  }
}

// --- The Program

void ServerTraining::extend(TrainerOptions& options) {
  check_training(job_mode(options_.mode), options);
  optimizer_ = options.optimizer;
  update_options_ = options.updates;
  // Of all gradients together, including those of tables: prepare().
  std::visit([](auto& rule) { rule.clip = {}; }, options.optimizer);
  options.exchange = [this](std::vector<ParameterGradient>& all) { exchange(all); };
  // The Session may replace the text of an error; step() throws the original error again.
  const auto add = [&](const char* name, auto function) {
    options.session.host[name] = [this, function](const std::string& key, Operands operands,
                                                  HostTensor& result) {
      try {
        function(key, operands, result);
      } catch (const StaleGeneration&) {
        stale_ = true;
        throw;
      }
    };
  };
  add(kLookUp, [this](const std::string& key, Operands operands, HostTensor& result) {
    look_up(key, operands, result);
  });
  add(kPushRows, [this](const std::string& key, Operands operands, HostTensor& result) {
    push_rows(key, operands);
    result.elements<std::int64_t>()[0] = static_cast<std::int64_t>(++tables_.at(key).pushes);
  });
  add(kPushCounts, [this](const std::string& key, Operands operands, HostTensor& result) {
    push_counts(key, operands);
    result.elements<std::int64_t>()[0] = static_cast<std::int64_t>(++tables_.at(key).counts);
  });
  add(kPushDense, [this](const std::string& key, Operands operands, HostTensor& result) {
    push_dense(key, operands);
    result.elements<std::int64_t>()[0] = static_cast<std::int64_t>(++dense_.at(key).pushes);
  });
}

void ServerTraining::exchange(std::vector<ParameterGradient>& gradients) {
  for (const ParameterGradient& one : gradients) {
    if (one.gradient.values.dtype() != f32) {
      fail_usage("servers keep parameters of f32, and " + one.parameter.str() + " is not");
    }
  }
  prepare(gradients);
  for (const ParameterGradient& one : gradients) {
    if (one.gradient.rows) make_table(one);
    else make_dense(one);
  }
  // In mode geo the optimizer of the Trainer updates dense parameters.
  std::erase_if(gradients, [this](const ParameterGradient& one) {
    return options_.mode != Mode::geo || one.gradient.rows;
  });
  program_.ir().remove_parameters(
      [this](const ir::Parameter& parameter) { return tables_.contains(parameter.name()); });
}

// Prepares the gradients for the rule of the optimizer, wherever it runs. In mode geo the Trainer
// adds penalties of dense parameters.
void ServerTraining::prepare(std::vector<ParameterGradient>& gradients) const {
  std::vector<Value> parameters;
  std::vector<nn::Gradient> limited;
  for (const ParameterGradient& one : gradients) {
    parameters.push_back(one.parameter);
    limited.push_back(one.gradient);
  }
  nn::limit_gradients(optimizer_, parameters, limited);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    gradients[i].gradient = limited[i];
    if (options_.mode == Mode::geo && !limited[i].rows) continue;
    nn::add_penalties(optimizer_, update_options_, parameters[i], gradients[i].gradient);
  }
}

// A parameter that counts the pushes keeps them alive, so that only runs with updates push.
void ServerTraining::count(const std::string& name, const Value& pushed) {
  const Value counter = program_.parameter(name, i64, {}, {.trainable = false});
  assign(counter, pushed);
}

// Shows and clicks of the rows that a step looks up.
void ServerTraining::make_counts(const std::string& key, const Value& ids) {
  std::vector<Value> operands = {ids};
  if (!options_.clicks.empty()) operands.push_back(clicks_of(program_, options_.clicks, key, ids));
  count(key + ".counts", host_call(operands, {.name = kPushCounts, .key = key, .dtype = i64}));
}

void ServerTraining::make_table(const ParameterGradient& one) {
  const std::string key = dense_key(one.parameter);
  ir::Value* const parameter = one.parameter.get();
  if (one.parameter.rank() != 2) {
    fail_usage("a table has rows of one axis, and " + one.parameter.str() + " has others");
  }
  Table table{static_cast<std::uint32_t>(tables_.size()), options_.table,
              one.parameter.dim(0).constant()};
  table.options.name = key;
  table.options.width = static_cast<int>(one.parameter.dim(1).constant());
  table.options.rule = options_.rule;
  table.rate = rate_of(program_, one.parameter);
  table.initializer = program_.ir().parameter_of(parameter).initializer;
  table.options.initializer = initializer_of(program_.ir().parameter_of(parameter));
  transforms::rewrite(program_.ir(), [&](ir::Builder& b, ir::Op& op) -> transforms::Replacement {
    if (!is_gather_of(op, parameter)) return std::nullopt;
    if (table.ids) {
      fail_usage("the table " + key +
                 " is looked up twice in a step: join the ids and look up once");
    }
    ir::Value* ids = op.operands[1];
    if (ids->type.dtype != i64) {
      ids = b.make("cast", {ids}, {{"dtype", i64}});
    }
    table.ids = Value(ids);
    return {{b.make("host_call", {ids},
                    {{"name", std::string(kLookUp)},
                     {"key", key},
                     {"dtype", f32},
                     {"shape", op.result()->type.shape},
                     {"early", false}})}};
  });
  if (options_.mode == Mode::geo) table.local = std::make_shared<LocalRows>(table.options);
  const Value rows = cast(one.gradient.rows, {.dtype = i64});
  count(key + ".pushes", host_call({rows, one.gradient.values},
                                   {.name = kPushRows, .key = key, .dtype = i64, .early = true}));
  if (options_.counts) make_counts(key, table.ids);
  tables_.emplace(key, table);
}

void ServerTraining::make_dense(const ParameterGradient& one) {
  const std::string key = dense_key(one.parameter);
  dense_.emplace(key, Dense{static_cast<std::uint32_t>(dense_.size()), one.parameter,
                            rate_of(program_, one.parameter)});
  if (options_.mode == Mode::geo) return;
  count(key + ".pushes", host_call({one.gradient.values},
                                   {.name = kPushDense, .key = key, .dtype = i64, .early = true}));
}

// --- Servers

void ServerTraining::start(Trainer& trainer) {
  trainer_ = &trainer;
  for (const auto& [key, table] : tables_) {
    client_.declare(table.number, {table.options, options_.spill, options_.mode});
  }
  std::vector<DenseParameter> parameters(dense_.size());
  for (const auto& [key, dense] : dense_) {
    const Tensor& value = first_.try_emplace(key, trainer.session().parameter(key)).first->second;
    const std::int64_t rows = value.rank() > 1 ? value.dim(0) : 1;
    parameters[dense.number] = {
        dense.number,
        {key, rows, rows > 0 ? value.elements() / rows : 0, options_.rule, options_.mode},
        {value.data<float>(), static_cast<std::size_t>(value.elements())}};
  }
  if (!parameters.empty()) client_.declare(parameters);
  pull();
}

// Pulls all dense parameters at once.
void ServerTraining::pull() {
  std::vector<std::pair<Dense*, Tensor>> values;
  std::vector<Underway> underway;
  for (auto& [key, dense] : dense_) {
    values.emplace_back(&dense, trainer_->session().parameter(key));
    underway.push_back(client_.start_pull(dense.number, values.back().second.data<float>()));
  }
  for (Underway& each : underway) each.wait();
  for (auto& [dense, value] : values) {
    trainer_->session().set_parameter(dense_key(dense->parameter), value);
    if (options_.mode == Mode::geo) dense->base = value;
  }
}

PushId ServerTraining::push_id() const {
  return task_ ? PushId::of_task(task_->task, task_->epoch, task_->batch) : PushId::next();
}

UpdateStep ServerTraining::update(double factor) const {
  const bool told = options_.mode == Mode::asynchronous && task_ && task_->step;
  const auto step = static_cast<std::int64_t>(told ? *task_->step : updates_);
  return {options_.rate.at(step) * factor, step + 1};
}

// For a step of mode geo, only the ids that are not here yet.
std::unique_ptr<ServerTraining::Fetched> ServerTraining::fetch(Table& table, std::vector<Id> wanted,
                                                               Create create) {
  auto fetched = std::make_unique<Fetched>();
  fetched->wanted = std::move(wanted);
  const bool here = table.local && create == Create::yes;
  fetched->ids = here ? table.local->missing(fetched->wanted) : fetched->wanted;
  fetched->rows.resize(fetched->ids.size() * static_cast<std::size_t>(table.options.width));
  fetched->underway = client_.prefetch(table.number, fetched->ids, fetched->rows.data(), create);
  return fetched;
}

// Computes the ids of each table, in order. This is no step: the state of random numbers stays.
std::vector<Tensor> ServerTraining::ids_of(const data::Batch& batch) {
  Feeds feeds;
  for (const Value& input : program_.inputs()) {
    const auto column = batch.find(input.name().substr(1));
    if (column != batch.end()) feeds.insert(*column);
  }
  std::vector<Value> wanted;
  for (const auto& [key, table] : tables_) wanted.push_back(table.ids);
  if (wanted.empty()) return {};
  Session& session = trainer_->session();
  const std::uint64_t step = session.step();
  std::vector<Tensor> ids = session.run(feeds, wanted);
  session.set_step(step);
  return ids;
}

void ServerTraining::prefetch(const data::Batch& batch, std::uint64_t later) {
  if (options_.mode == Mode::synchronous) return;
  if (trainer_ == nullptr) fail_usage("ServerTraining: start() comes before prefetch()");
  const std::vector<Tensor> all = ids_of(batch);
  Ahead& ahead = ahead_[steps_ + later];
  auto ids = all.begin();
  for (auto& [key, table] : tables_) {
    ahead[key] =
        fetch(table, named({ids->data<std::int64_t>(), static_cast<std::size_t>(ids->elements())}),
              Create::yes);
    ++ids;
  }
}

// Returns the rows that were requested ahead for this step; null if there are none, or if they are
// of another batch.
std::unique_ptr<ServerTraining::Fetched> ServerTraining::take_ahead(const std::string& key,
                                                                    const std::vector<Id>& wanted) {
  const auto ahead = ahead_.find(steps_);
  if (!training_ || ahead == ahead_.end()) return nullptr;
  std::unique_ptr<Fetched> fetched = std::move(ahead->second[key]);
  if (fetched == nullptr || fetched->wanted != wanted) return nullptr;
  return fetched;
}

void ServerTraining::look_up(const std::string& key, Operands operands, HostTensor& result) {
  Table& table = tables_.at(key);
  const std::span<const std::int64_t> ids = operands[0].elements<std::int64_t>();
  if (training_ && table.local) return look_up_locally(key, ids, result);
  std::vector<Id> wanted = named(ids);
  std::unique_ptr<Fetched> fetched = take_ahead(key, wanted);
  if (fetched == nullptr) {
    fetched = fetch(table, std::move(wanted), training_ ? Create::yes : Create::no);
  }
  fetched->underway->wait();
  spread_rows(fetched->rows.data(), static_cast<std::size_t>(table.options.width), ids,
              result.elements<float>().data());
}

// Fetches the missing rows. Rows that were fetched ahead but have arrived here since are skipped,
// because they may have changed.
void ServerTraining::look_up_locally(const std::string& key, std::span<const std::int64_t> ids,
                                     HostTensor& result) {
  Table& table = tables_.at(key);
  const std::vector<Id> wanted = named(ids);
  const auto width = static_cast<std::size_t>(table.options.width);
  std::unique_ptr<Fetched> fetched = take_ahead(key, wanted);
  if (fetched == nullptr) fetched = fetch(table, wanted, Create::yes);
  fetched->underway->wait();
  const std::vector<Id> missing = table.local->missing(fetched->ids);
  std::vector<float> rows(wanted.size() * width);
  auto from = fetched->rows.begin();
  std::size_t at = 0;
  for (const Id id : fetched->ids) {
    if (at < missing.size() && missing[at] == id) {
      std::copy_n(from, width, rows.begin() + static_cast<std::ptrdiff_t>(width * at++));
    }
    from += static_cast<std::ptrdiff_t>(width);
  }
  if (!missing.empty()) table.local->put(missing, rows.data());
  if (!wanted.empty()) table.local->lookup(wanted, rows.data());
  spread_rows(rows.data(), width, ids, result.elements<float>().data());
}

void ServerTraining::push_rows(const std::string& key, Operands operands) {
  const Table& table = tables_.at(key);
  const UpdateStep step = update(table.rate);
  if (step.rate == 0) return;  // a schedule at its end: servers take no such push
  const std::span<const std::int64_t> rows = operands[0].elements<std::int64_t>();
  const auto width = static_cast<std::size_t>(table.options.width);
  const float* values = operands[1].elements<float>().data();
  auto push = std::make_unique<Push>();
  push->ids = named(rows);
  push->values.reserve(push->ids.size() * width);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) continue;
    for (std::size_t j = 0; j < width; ++j) push->values.push_back(values[i * width + j] * share_);
  }
  if (table.local) return table.local->update(push->ids, push->values.data(), step);
  push->underway =
      client_.start_push(table.number, push->ids, push->values.data(), step, push_id());
  pushes_.back().push_back(std::move(push));
}

void ServerTraining::push_counts(const std::string& key, Operands operands) {
  const std::span<const std::int64_t> ids = operands[0].elements<std::int64_t>();
  const std::span<const float> clicks =
      operands.size() > 1 ? operands[1].elements<float>() : std::span<const float>();
  const std::size_t each = clicks.empty() ? 0 : ids.size() / clicks.size();  // ids of an example
  auto push = std::make_unique<Push>();
  push->ids = named(ids);
  push->values.reserve(2 * push->ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0) continue;
    push->values.push_back(1);
    push->values.push_back(each == 0 ? 0 : clicks[i / each]);
  }
  push->underway =
      client_.start_count(tables_.at(key).number, push->ids, push->values.data(), push_id());
  pushes_.back().push_back(std::move(push));
}

void ServerTraining::push_dense(const std::string& key, Operands operands) {
  const Dense& dense = dense_.at(key);
  const UpdateStep step = update(dense.rate);
  if (step.rate == 0) return;
  const std::span<const float> gradient = operands[0].elements<float>();
  auto push = std::make_unique<Push>();
  push->values.assign(gradient.begin(), gradient.end());
  for (float& value : push->values) value *= share_;
  push->underway = client_.start_push(dense.number, push->values.data(), step, push_id());
  pushes_.back().push_back(std::move(push));
}

void ServerTraining::wait_for_pushes(std::size_t max) {
  while (pushes_.size() > max) {
    for (const auto& push : pushes_.front()) push->underway->wait();
    pushes_.pop_front();
  }
}

double ServerTraining::step(const data::Batch& batch, std::optional<TaskBatch> task) {
  if (trainer_ == nullptr) fail_usage("ServerTraining: start() comes before the first step");
  const bool together = options_.mode == Mode::synchronous;
  const auto examples = static_cast<std::uint64_t>(data::examples_in(batch));
  task_ = task;
  share_ = together ? static_cast<float>(examples) : 1;
  if (together) client_.begin_step(steps_ + 1);
  if (options_.mode != Mode::geo) pull();
  pushes_.emplace_back();
  training_ = true;
  stale_ = false;
  double loss = 0;
  try {
    loss = trainer_->step(batch);
  } catch (const Error& error) {
    training_ = false;
    if (stale_) throw StaleGeneration(error.what());
    throw;
  }
  training_ = false;
  wait_for_pushes(together ? 0 : options_.pushes);
  ahead_.erase(ahead_.begin(), ahead_.upper_bound(steps_));
  if (together) {
    finish_together(examples);
  } else {
    ++steps_;
    ++updates_;
  }
  if (options_.mode == Mode::geo && task && task->last) push_deltas();
  return loss;
}

// Any trainer that completes the task pushes under the same name, so the changes count once.
void ServerTraining::push_deltas() {
  for (auto& [key, table] : tables_) {
    const LocalRows::Deltas deltas = table.local->deltas();
    client_.push_deltas(table.number, deltas.ids, deltas.values.data(), push_id());
    table.local->reset();
  }
  ahead_.clear();  // those rows would lack what was just pushed
  for (auto& [key, dense] : dense_) {
    const Tensor value = trainer_->session().parameter(key);
    std::vector<float> delta(static_cast<std::size_t>(value.elements()));
    for (std::size_t i = 0; i < delta.size(); ++i) {
      delta[i] = value.data<float>()[i] - dense.base.data<float>()[i];
    }
    client_.push(dense.number, delta.data(), {}, push_id());
  }
  pull();
}

void ServerTraining::forget_deltas() {
  for (auto& [key, table] : tables_) table.local->reset();
  ahead_.clear();
  pull();
}

void ServerTraining::finish_together(std::uint64_t examples) {
  examples_ = client_.finish_step(examples);
  ++steps_;
  if (examples_ > 0) ++updates_;
}

void ServerTraining::step_without_batch() {
  client_.begin_step(steps_ + 1);
  finish_together(0);
}

void ServerTraining::go_on(std::uint64_t step, std::uint64_t updates) {
  pushes_.clear();
  ahead_.clear();
  for (auto& [key, table] : tables_) {
    if (table.local) table.local->reset();
  }
  steps_ = step;
  if (options_.mode != Mode::geo) updates_ = updates;
}

void ServerTraining::settle() {
  wait_for_pushes(0);
  pull();
}

}  // namespace trireme::distributed
