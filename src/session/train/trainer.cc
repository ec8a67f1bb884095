#include "trireme/trainer.h"

#include <cstring>

#include "base/error.h"
#include "ir/program.h"
#include "session/train/fit.h"
#include "session/train/training.h"

namespace trireme {

struct Trainer::State : Training {
  using Training::Training;
};

Trainer::Trainer(Program& program, TrainerOptions options, SourceLocation where)
    : state_(std::make_unique<State>(program, std::move(options), where)) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

Session& Trainer::session() { return *state_->session; }
std::int64_t Trainer::steps() const { return state_->at.steps; }
std::vector<Value> Trainer::training_fetches() const { return state_->training_fetches; }

Metrics Trainer::fit(const data::Batches& batches, const FitOptions& options) {
  return Fit(*this, *state_, batches, options).run();
}

double Trainer::step(const data::Batch& batch) { return state_->step(state_->fed(batch)); }

Metrics Trainer::evaluate(const data::Batches& batches) { return state_->evaluate(batches); }

namespace {

// Concatenates parts with equal rows.
Tensor joined(const std::vector<Tensor>& parts) {
  std::vector<std::int64_t> shape = parts.at(0).shape();
  shape[0] = 0;
  for (const Tensor& part : parts) shape[0] += part.dim(0);
  Tensor all = Tensor::uninitialized(parts[0].dtype(), shape);
  std::byte* to = all.bytes();
  for (const Tensor& part : parts) {
    if (part.size_bytes() == 0) continue;
    std::memcpy(to, part.bytes(), part.size_bytes());
    to += part.size_bytes();
  }
  return all;
}

// Returns the splits of concatenated parts.
Tensor joined_splits(const std::vector<Tensor>& parts) {
  std::vector<std::int64_t> all{0};
  for (const Tensor& part : parts) {
    const std::vector<std::int64_t> splits = part.to_vector<std::int64_t>();
    const std::int64_t begin = all.back();
    for (std::size_t i = 1; i < splits.size(); ++i) all.push_back(begin + splits[i]);
  }
  const auto count = static_cast<std::int64_t>(all.size());
  return Tensor::from<std::int64_t>({count}, all);
}

// The splits of the levels above the rows of `value`, the innermost first.
std::vector<Value> levels_above(const Value& value) {
  std::vector<Value> levels;
  if (!value || value.rank() == 0) return levels;
  const ir::Block& main = value.get()->program->main();
  for (Dim rows = value.dim(0);;) {
    const Value splits(ir::find_splits(main, rows));
    if (!splits) return levels;
    levels.push_back(splits);
    rows = splits.dim(0) - 1;
  }
}

}  // namespace

Tensor Trainer::predict(const data::Batches& batches, Value value) {
  if (!levels_above(value).empty()) {
    fail_usage(
        "predict: the rows of " + value.str() +
        " are those of sequences of different lengths\n  hint   predict_ragged() gives them");
  }
  std::vector<Tensor> parts;
  const Undisturbed guard(*state_->session);
  data::BatchStream stream = batches.epoch(0);
  while (const std::optional<Fed> batch = state_->next(stream)) {
    parts.push_back(state_->session->run(batch->feeds, {value})[0]);
    if (parts.back().rank() == 0 || parts.back().dim(0) != batch->examples) {
      fail_usage("predict: axis 0 of " + value.str() + " is not the batch");
    }
  }
  if (parts.empty()) fail_usage("predict: there are no examples");
  return joined(parts);
}

RaggedTensor Trainer::predict_ragged(const data::Batches& batches, Value value) {
  std::vector<Value> fetches = levels_above(value);
  if (fetches.empty()) {
    fail_usage("predict_ragged: the rows of " + (value ? value.str() : "an empty Value") +
               " are not those of sequences\n  hint   predict() is for a value for each example");
  }
  fetches.insert(fetches.begin(), value);
  std::vector<std::vector<Tensor>> parts(fetches.size());
  const Undisturbed guard(*state_->session);
  data::BatchStream stream = batches.epoch(0);
  while (const std::optional<Fed> batch = state_->next(stream)) {
    const std::vector<Tensor> results = state_->session->run(batch->feeds, fetches);
    for (std::size_t i = 0; i < results.size(); ++i) parts[i].push_back(results[i]);
    if (results.back().dim(0) != batch->examples + 1) {
      fail_usage("predict_ragged: " + value.str() + " has not one sequence for each example");
    }
  }
  if (parts[0].empty()) fail_usage("predict_ragged: there are no examples");
  std::vector<Tensor> splits;
  for (std::size_t i = parts.size(); i-- > 1;) splits.push_back(joined_splits(parts[i]));
  return RaggedTensor(joined(parts[0]), splits);
}

AveragedParameters Trainer::averaged() {
  if (const auto lives = state_->averaged.lock()) {
    AveragedParameters same;
    same.swapped_ = lives;
    return same;
  }
  AveragedParameters averaged(state_->program, *state_->session);
  state_->averaged = averaged.swapped_;
  return averaged;
}

void Trainer::save(const std::string& directory, const SaveOptions& options) {
  save_model(state_->program, *state_->session, directory, options);
}

void Trainer::save_checkpoint(const std::string& directory) {
  write_checkpoint(directory, state_->checkpoint());
}

void Trainer::resume(const std::string& directory) { state_->restore(find_checkpoint(directory)); }

}  // namespace trireme
