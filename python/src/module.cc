// trireme._core: the C++ interface for the Python files of the package, which users import.

#include "module.h"

NB_MODULE(_core, m) {
  using namespace trireme::python;
  add_errors(m);
  add_arrays(m);
  add_program(m);
  add_immediate(m);
  add_functions(m);
  add_steps(m);
  add_data(m);
  add_session(m);
  add_lbfgs(m);
  add_state(m);
  add_tensorboard(m);
  add_training(m);
  add_models(m);
  add_compression(m);
  add_jobs(m);
  add_losses(m);
  add_metrics(m);
}
