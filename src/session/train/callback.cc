#include "trireme/callback.h"

namespace trireme {

Callback::~Callback() = default;
void Callback::on_fit_begin(FitState&) {}
void Callback::on_epoch_begin(FitState&) {}
void Callback::on_step_begin(FitState&) {}
void Callback::on_step(FitState&, double) {}
void Callback::on_evaluation(FitState&, const Metrics&) {}
void Callback::on_epoch_end(FitState&, const EpochReport&) {}
void Callback::on_fit_end(FitState&) {}

void History::on_step(FitState&, double loss) { losses_.push_back(loss); }

void History::on_epoch_end(FitState&, const EpochReport& report) { epochs_.push_back(report); }

std::vector<double> History::training(std::string_view metric) const {
  std::vector<double> values;
  for (const EpochReport& epoch : epochs_) values.push_back(epoch.training[metric]);
  return values;
}

std::vector<double> History::validation(std::string_view metric) const {
  std::vector<double> values;
  for (const EpochReport& epoch : epochs_) values.push_back(epoch.validation[metric]);
  return values;
}

}  // namespace trireme
