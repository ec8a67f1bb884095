// The learning rate that a measurement lowers.

#include "nn/schedule.h"
#include "nn/updates.h"
#include "trireme/trainer.h"

namespace trireme {

void report_to_plateau(Session& session, const Plateau& plateau, double measured,
                       std::string_view name) {
  const auto get = [&](const char* state) {
    return session.parameter(nn::counter_name(name, state)).item<double>();
  };
  const auto put = [&](const char* state, double value) {
    session.set_parameter(nn::counter_name(name, state), Tensor::from<double>({}, {value}));
  };
  const nn::PlateauState state =
      nn::after_measuring({get(nn::kPlateauFactor), get(nn::kPlateauBest), get(nn::kPlateauWaited),
                           get(nn::kPlateauCooling)},
                          plateau, measured);
  put(nn::kPlateauFactor, state.factor);
  put(nn::kPlateauBest, state.best);
  put(nn::kPlateauWaited, state.waited);
  put(nn::kPlateauCooling, state.cooling);
}

}  // namespace trireme
