// Updates of parameters as compiled: how many kernels they are.

#include <gmock/gmock.h>

#include "trireme/nn.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

// Of one parameter whose gradient is fed.
int kernels_of(const Optimizer& optimizer) {
  Program program;
  const Value p = program.parameter("p", f32, {30, 1000});
  const Value g = program.input("g", f32, {30, 1000});
  nn::apply_updates(optimizer, {p}, {g});
  Session session(program, {.threads = 1});
  return session.memory({}, {.training = true, .updates = true}, {}).kernels;
}

TEST(Updates, AreOneKernelForEachParameter) {
  for (const Optimizer& optimizer : std::initializer_list<Optimizer>{
           Sgd{.weight_decay = 0.1}, Momentum{.nesterov = true}, Adagrad{}, DecayedAdagrad{},
           Adadelta{}, RmsProp{.momentum = 0.9, .centred = true}, Lion{}, Ftrl{.l1 = 1}}) {
    EXPECT_EQ(kernels_of(optimizer), 1) << "optimizer " << optimizer.index();
  }
  // And one for the number of the step and what follows from it.
  for (const Optimizer& optimizer : std::initializer_list<Optimizer>{Adam{}, AdamW{}, Adamax{}}) {
    EXPECT_EQ(kernels_of(optimizer), 2) << "optimizer " << optimizer.index();
  }
  EXPECT_EQ(kernels_of(Adam{.learning_rate = Schedule::cosine(0.1, 100)}), 2);
}

}  // namespace
}  // namespace trireme
