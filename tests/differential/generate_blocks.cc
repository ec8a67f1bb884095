#include <utility>

#include "generator.h"
#include "ops/common.h"
#include "transforms/autodiff.h"
#include "trireme/control.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/optimizer.h"
#include "trireme/rnn.h"
#include "trireme/sequence.h"

namespace trireme::differential {

// --- Control flow -----------------------------------------------------------------------------

// A chain of one to three functions that keep the type of `x`, with values around it as operands.
Value Generator::chain(Value x) {
  for (int i = 1 + below(3); i > 0; --i) x = link(x);
  return x;
}

Value Generator::link(const Value& x) {
  const Values same = pooled(x.dtype(), x.shape());
  const Value other = same.empty() || one_in(3) ? x : any(same);
  if (!is_arithmetic_float(x.dtype())) return is_integer(x.dtype()) ? x + other : x;
  switch (below(10)) {
    case 0: return tanh(x);
    case 1: return x * other * 0.5;
    case 2: return tanh(x) + other;
    case 3: return where(x < other, x, other * 0.5);
    case 4: return sigmoid(x) - x * 0.25;
    case 5: return x.rank() > 0 ? softmax(x) : exp(tanh(x));
    case 6: return maximum(x, other);
    case 7: return x.rank() > 0 ? x - mean(x) : abs(x);
    case 8: return x.rank() == 2 ? x + sum(x, {.axes = {0}, .keep = true}) * 0.1 : sin(x);
    default: return nn::gelu(x);
  }
}

Generator::Values Generator::control_step() {
  Values floats;
  for (const Value& value : pool_) {
    if (is_arithmetic_float(value.dtype()) && value.get()->type.splits_of.empty())
      floats.push_back(value);
  }
  if (floats.empty()) floats.push_back(fresh({DType::f32, {4, 3}, ""}, -2, 2));
  const Value x = any(floats);
  switch (below(4)) {
    case 0: return {condition(x)};
    case 1: return {loop(x)};
    case 2: return scanned(x);
    default: return rows_by_condition(x);
  }
}

Value Generator::scalar_condition(const Value& x) {
  if (one_in(2)) return fresh({DType::boolean, {}, ""}, 0, 2);
  return trireme::any(x < -1.0);
}

Value Generator::condition(const Value& x) {
  const Value decides = scalar_condition(x);
  return cond(decides, [&] { return chain(x); }, [&] { return chain(x); });
}

Value Generator::loop(const Value& x) {
  const Value zero = fresh({DType::i64, {}, ""}, 0, 1);
  const Value limit = fresh({DType::i64, {}, ""}, 0, 5);
  return while_values(
      {zero, x}, [&](const Values& v) { return v[0] < limit; },
      [&](const Values& v) { return Values{v[0] + 1.0, chain(tanh(v[1]))}; }, {.limit = 100})[1];
}

Generator::Values Generator::scanned(const Value& x) {
  if (x.rank() == 0) return {loop(x)};
  Shape row = x.shape();
  row.erase(row.begin());
  const Value start = fresh({x.dtype(), row, ""}, -1, 1);
  const ScanResult result = scan({start}, {x},
                                 [&](const Values& carried, const Values& rows) {
                                   const Value next = chain(tanh(carried[0] + rows[0]));
                                   return ScanStep{{next}, {chain(next)}};
                                 },
                                 {.reverse = one_in(2)});
  return {result.carried[0], result.outputs[0]};
}

Generator::Values Generator::rows_by_condition(const Value& x) {
  if (x.rank() == 0) return {condition(x)};
  const Value decides = fresh({DType::boolean, {x.dim(0)}, ""}, 0, 2);
  const auto branch = [&](const Values& rows) { return Values{chain(rows[0])}; };
  return if_else(decides, {x}, branch, branch);
}

// --- Ragged sequences ---------------------------------------------------------------------------

Value Generator::ragged_rows(std::int64_t width) {
  const Dim words{std::string_view("words")};
  if (!std::exchange(has_sequences_, true)) fresh({DType::i64, {batch + 1}, "words"}, 0, 1);
  const Values made = pooled(DType::f32, {words, width});
  return made.empty() || one_in(3) ? fresh({DType::f32, {words, width}, ""}, -2, 2) : any(made);
}

Value Generator::row_link(const Values& rows, const Value& weight) {
  const Value &x = any(rows), &y = any(rows);
  switch (below(8)) {
    case 0: return tanh(matmul(x, weight));
    case 1: return x * y * 0.5;
    case 2: return tanh(x) + y;
    case 3: return where(x < y, x, y * 0.5);
    case 4: return sigmoid(x) * y;
    case 5: return softmax(x);
    case 6: return maximum(x, y);
    default: return x - mean(y, {.axes = {1}, .keep = true});
  }
}

Generator::Values Generator::recurrent_step() {
  const std::int64_t width = 1 + below(4);
  const Value x = ragged_rows(width);
  const Value weight = fresh({DType::f32, {width, width}, ""}, -1, 1);
  const auto of_sequences = [&] { return fresh({DType::f32, {batch, width}, ""}, -2, 2); };
  const Value fixed = one_in(2) ? of_sequences() : Value();
  const Value first = one_in(2) ? of_sequences() : Value();
  const auto step = [&](nn::Step& at) {
    Values rows{at.input(x)};
    if (fixed) rows.push_back(at.static_input(fixed));
    const Value state =
        first ? at.state({.init = first}) : at.state({.width = width, .value = 0.5});
    const Value other = at.state({.width = width});
    rows.insert(rows.end(), {state, other});
    for (int i = 1 + below(5); i > 0; --i) rows.push_back(row_link(rows, weight));
    at.update(state, tanh(rows.back()));
    at.update(other, tanh(any(rows)) * 0.5);
    at.output(rows.back());
  };
  const nn::RnnResult result = nn::run_rnn(step, {.reverse = one_in(2)});
  Values all = result.states;
  all.push_back(result.outputs[0]);
  return all;
}

Generator::Values Generator::sequence_step() {
  const Value x = ragged_rows(1 + below(4));
  return one_in(3) ? new_sequences(x) : Values{rows_of_sequences(x)};
}

Value Generator::rows_of_sequences(const Value& x) {
  switch (below(12)) {
    case 0: return sequence::sum(x);
    case 1: return sequence::mean(x);
    case 2: return sequence::sqrt_n(x);
    case 3: return sequence::max(x);
    case 4: return sequence::min(x);
    case 5: return sequence::first(x);
    case 6: return sequence::last(x);
    case 7: return sequence::top_k(x, {.k = 1 + below(3), .by_size = one_in(2)});
    case 8: return sequence::softmax(x);
    case 9: return sequence::reverse(x);
    case 10: return sequence::windows(x, 1 + below(3), 0.5);
    default: return x - sequence::expand(sequence::mean(x), x);
  }
}

// Sequences whose number of rows only the run knows, and what follows from them.
Generator::Values Generator::new_sequences(const Value& x) {
  switch (below(3)) {
    case 0: {
      const Value both = sequence::concat({x, sequence::reverse(x)});
      return {both, sequence::sum(both)};
    }
    case 1: {
      const Value kept = sequence::filter(x, sum(x, {.axes = {1}}) > 0.0);
      return {kept, sequence::softmax(kept), sequence::max(kept)};
    }
    default: {
      const Value padded = sequence::pad(x, sequence::longest(x), -1);
      return {sum(padded, {.axes = {1}}), sequence::unpad(tanh(padded), x)};
    }
  }
}

// --- Parameters ---------------------------------------------------------------------------------

Generator::Values Generator::assign_step() {
  Values parameters;
  for (const Value& value : pool_) {
    if (value.get()->kind == ir::ValueKind::parameter) parameters.push_back(value);
  }
  if (parameters.empty()) return op_step();
  const Value p = any(parameters);
  const Values same = pooled(p.dtype(), p.shape());
  assign(p, one_in(2) ? any(same) + 0.0 : tanh(chain(p)) * 2.0);
  return {p * 1.0};
}

void Generator::optimize(const Value& loss, const Values& parameters) {
  static const std::vector<Optimizer> optimizers = {
      Sgd{},
      Momentum{.nesterov = true},
      Adam{},
      AdamW{},
      Adam{.amsgrad = true},
      Adagrad{},
      DecayedAdagrad{},
      RmsProp{.momentum = 0.5},
      Adadelta{},
      Adamax{},
      Lamb{},
      Lion{},
      Ftrl{},
      Momentum{.clip = {.value = 0.1, .global_norm = 1}}};
  std::vector<ir::Value*> wanted;
  for (const Value& p : parameters) wanted.push_back(p.get());
  Values gradients;
  for (ir::Value* gradient : transforms::gradients(loss.get(), wanted)) {
    gradients.emplace_back(gradient);
  }
  UpdateOptions options{.accumulate = one_in(4) ? 2 : 1, .l2 = one_in(4) ? 0.1 : 0};
  if (one_in(4)) options.average = Average::exponential();
  nn::apply_updates(any(optimizers), parameters, gradients, options);
}

}  // namespace trireme::differential
