#include "trireme/trainer.h"

#include <cstring>

#include "base/error.h"
#include "session/fit.h"
#include "session/training.h"

namespace trireme {

struct Trainer::State : Training {
  using Training::Training;
};

Trainer::Trainer(Program& program, TrainerOptions options)
    : state_(std::make_unique<State>(program, std::move(options))) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

Session& Trainer::session() { return *state_->session; }
std::int64_t Trainer::steps() const { return state_->at.steps; }
std::vector<Value> Trainer::training_fetches() const { return state_->training_fetches; }

Metrics Trainer::fit(const data::Batches& batches, const FitOptions& options) {
  return Fit(*state_, batches, options).run();
}

Metrics Trainer::evaluate(const data::Batches& batches) { return state_->evaluate(batches); }

Tensor Trainer::predict(const data::Batches& batches, Value value) {
  std::vector<Tensor> parts;
  std::int64_t rows = 0;
  const Undisturbed guard(*state_->session);
  data::BatchStream stream = batches.epoch(0);
  while (const std::optional<Fed> batch = state_->next(stream)) {
    parts.push_back(state_->session->run(batch->feeds, {value})[0]);
    if (parts.back().rank() == 0 || parts.back().dim(0) != batch->examples) {
      fail_usage("predict: axis 0 of " + value.str() + " is not the batch");
    }
    rows += batch->examples;
  }
  if (parts.empty()) fail_usage("predict: there are no examples");
  std::vector<std::int64_t> shape = parts[0].shape();
  shape[0] = rows;
  Tensor joined = Tensor::uninitialized(value.dtype(), shape);
  std::byte* to = joined.bytes();
  for (const Tensor& part : parts) {
    if (part.size_bytes() == 0) continue;
    std::memcpy(to, part.bytes(), part.size_bytes());
    to += part.size_bytes();
  }
  return joined;
}

AveragedParameters Trainer::averaged() {
  if (const auto lives = state_->averaged.lock()) {
    AveragedParameters same;
    same.swapped_ = lives;
    return same;
  }
  AveragedParameters averaged(*state_->program, *state_->session);
  state_->averaged = averaged.swapped_;
  return averaged;
}

void Trainer::save(const std::string& directory, const SaveOptions& options) {
  save_model(*state_->program, *state_->session, directory, options);
}

void Trainer::save_checkpoint(const std::string& directory) {
  write_checkpoint(directory, state_->checkpoint());
}

void Trainer::resume(const std::string& directory) { state_->restore(find_checkpoint(directory)); }

}  // namespace trireme
