#pragma once

// L-BFGS, for whole data sets and few parameters: it runs a Session several times for each step, so
// it is no Optimizer that becomes ops of a Program.

#include <memory>
#include <string>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/session.h"

namespace trireme {

struct LbfgsOptions {
  int max_iterations = 100;          // steps of one call of minimize()
  int max_evaluations = 0;           // of the loss and its gradients; 0: 25 for each iteration
  int history = 10;                  // the number of last steps that approximate the curvature
  double learning_rate = 1;          // the first step length that each line search tries
  double gradient_tolerance = 1e-7;  // converged: no element of the gradient is larger
  double change_tolerance = 1e-9;    // converged: a step changes the loss and all parameters less
  // Changes the trainable parameters whose names match a pattern, where * matches any characters
  // ("encoder/*"). Empty: all of them. Frozen parameters stay unchanged.
  std::vector<std::string> parameters = {};
  bool training = false;  // RunOptions::training. Dropout makes the loss random: leave it off
};

struct LbfgsResult {
  double loss = 0;         // of the parameters that minimize() leaves in the Session
  double gradient = 0;     // the largest absolute value of an element of its gradient
  int iterations = 0;      // steps
  int evaluations = 0;     // of the loss and its gradients
  bool converged = false;  // a tolerance was reached, not a limit
};

// The limited-memory method of Broyden, Fletcher, Goldfarb and Shanno: Liu and Nocedal 1989, with
// the line search of Nocedal and Wright, "Numerical Optimization", 2nd ed., algorithms 3.5 and 3.6,
// for the strong Wolfe conditions with constants 1e-4 and 0.9. Steps are computed in double on the
// host; parameters keep their dtype. f64 parameters reach smaller gradients than f32 ones.
class TRIREME_API Lbfgs {
 public:
  // Appends the gradients of `loss`, an f32 or f64 scalar, to its Program, which must be that of
  // the Session. Uses the Session, which must outlive it.
  // Errors: usage, for options out of range, a loss that gradients() refuses, and if no trainable
  // parameter matches.
  Lbfgs(Session& session, const Value& loss, LbfgsOptions options = {},
        SourceLocation where = SourceLocation::current());
  ~Lbfgs();
  Lbfgs(Lbfgs&&) noexcept;
  Lbfgs& operator=(Lbfgs&&) noexcept;

  // Changes the parameters of the Session until a tolerance or a limit is reached, or no smaller
  // loss is found. Each call begins without history. An exception leaves the parameters at
  // the last finished step.
  // Errors: numeric, if the first loss or gradient is not finite; usage, as for Session::run().
  LbfgsResult minimize(const Feeds& feeds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme
