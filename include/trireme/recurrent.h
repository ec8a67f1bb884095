#pragma once

// Recurrent layers, each a few lines on top of nn::rnn (trireme/rnn.h). x is [rows, width], whose
// rows are sequences, or dense: [n, steps, width]. The result is [rows, units] or [n, steps, units]
// and, if bidirectional, has 2 * units elements: forward, then backward. x is f32 or f64. Invalid
// arguments throw Error(usage) with the layer and the caller's line.
//
// States are [layers * directions, n, units], one row for each sequence, in the order of PyTorch:
// layer 0, layer 0 backward, layer 1 ... They are zeros at first, unless they are given. The final
// state is that after the last step that a direction takes; for a sequence without rows it is the
// first state.

#include <cstdint>
#include <string>

#include "trireme/export.h"
#include "trireme/nn.h"
#include "trireme/program.h"

namespace trireme::nn {

struct RecurrentOptions {
  std::int64_t units = 0;  // required
  int layers = 1;          // each reads the outputs of the previous one
  bool bidirectional = false;
  bool reverse = false;  // from the last row to the first; not with `bidirectional`
  double dropout = 0;    // between layers, in training
  Value initial = {};    // the first states; empty: zeros
  std::string name = {};
};

// The outputs of a layer and its final states.
struct RecurrentResult {
  Value outputs, h;
};

// h' = tanh(x W + h U + b): Elman 1990. Parameters of each layer and direction: weight [width,
// units], recurrent [units, units], bias [units].
TRIREME_API Value simple_rnn(const Value& x, const RecurrentOptions& options,
                             SourceLocation where = SourceLocation::current());
TRIREME_API RecurrentResult
simple_rnn_with_states(const Value& x, const RecurrentOptions& options,
                       SourceLocation where = SourceLocation::current());

// Cho et al. 2014, with the reset gate after the recurrent product as in cuDNN and PyTorch:
//   r = sigmoid(x W_r + h U_r + b_r), z likewise, n = tanh(x W_n + b_n + r * (h U_n + c)),
//   h' = (1 - z) * n + z * h.
// weight [width, 3 * units] in the order r, z, n; recurrent [units, 3 * units]; bias [3 * units];
// recurrent_bias [units], which is c.
TRIREME_API Value gru(const Value& x, const RecurrentOptions& options,
                      SourceLocation where = SourceLocation::current());
TRIREME_API RecurrentResult gru_with_states(const Value& x, const RecurrentOptions& options,
                                            SourceLocation where = SourceLocation::current());

struct LstmOptions {
  std::int64_t units = 0;  // required
  int layers = 1;
  bool bidirectional = false;
  bool reverse = false;
  double dropout = 0;
  bool peepholes = false;       // the gates read the cell state: Gers and Schmidhuber 2000
  std::int64_t projection = 0;  // size of h, if not `units`: Sak et al. 2014
  double forget_bias = 1;       // added to the input of the forget gate: Jozefowicz et al. 2015
  // The first states; empty: zeros. With a projection, those of h have `projection` elements.
  Value initial_h = {}, initial_c = {};
  std::string name = {};
};

struct LstmResult {
  Value outputs, h, c;
};

// Hochreiter and Schmidhuber 1997, with forget gates (Gers et al. 1999):
//   i = sigmoid(x W_i + h U_i + b_i), f and o likewise, g = tanh(x W_g + h U_g + b_g),
//   c' = f * c + i * g, h' = o * tanh(c').
// weight [width, 4 * units] in the order i, f, g, o; recurrent [units, 4 * units]; bias [4 *
// units]; peepholes [3, units]: p_i and p_f multiply c, p_o multiplies c'; projection [units,
// projection].
TRIREME_API Value lstm(const Value& x, const LstmOptions& options,
                       SourceLocation where = SourceLocation::current());
TRIREME_API LstmResult lstm_with_states(const Value& x, const LstmOptions& options,
                                        SourceLocation where = SourceLocation::current());

// --- Single steps, for step functions of your own (trireme/rnn.h) --------------------------------
// x is [n, width], the previous state [n, units]. Parameters have the names of those of the layers.

struct CellOptions {
  std::int64_t units = 0;  // required
  std::string name = {};
};

TRIREME_API Value simple_rnn_cell(const Value& x, const Value& h, const CellOptions& options,
                                  SourceLocation where = SourceLocation::current());
TRIREME_API Value gru_cell(const Value& x, const Value& h, const CellOptions& options,
                           SourceLocation where = SourceLocation::current());

struct LstmState {
  Value h, c;
};
// The forget bias is 1.
TRIREME_API LstmState lstm_cell(const Value& x, const LstmState& state, const CellOptions& options,
                                SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
