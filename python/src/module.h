#pragma once

// The parts of trireme._core; module.cc calls them in this order.

#include <nanobind/nanobind.h>

namespace trireme::python {

namespace nb = nanobind;

void add_errors(nb::module_& m);
void add_arrays(nb::module_& m);
void add_program(nb::module_& m);
void add_immediate(nb::module_& m);
void add_functions(nb::module_& m);
void add_steps(nb::module_& m);
void add_data(nb::module_& m);
void add_session(nb::module_& m);
void add_lbfgs(nb::module_& m);
void add_state(nb::module_& m);
void add_training(nb::module_& m);
void add_models(nb::module_& m);
void add_compression(nb::module_& m);
void add_tensorboard(nb::module_& m);
void add_jobs(nb::module_& m);
void add_losses(nb::module_& m);
void add_metrics(nb::module_& m);

}  // namespace trireme::python
