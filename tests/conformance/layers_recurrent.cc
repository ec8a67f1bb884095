#include "layers.h"
#include "ops/common.h"
#include "trireme/ops.h"
#include "trireme/recurrent.h"
#include "trireme/shorthand.h"
#include "trireme/structured.h"

namespace trireme::conformance {
namespace {

using Network = std::function<Value(const Value& x)>;

// Makes the rows of x two sequences, the first of `first` rows and the second of `first` + 1 rows.
void split_in_two(const Value& x, std::int64_t first) {
  const Value indices =
      ops::emit_in(*x.get()->program, "iota", {{"shape", Shape{2}}}, SourceLocation::current())
          .front();
  row_splits(indices + static_cast<double>(first), {.rows = {2 * first + 1}});
}

// Adds a case with 11 rows, in sequences of 5 and 6.
void add(std::vector<Case>& cases, const std::string& name, const Network& network,
         const std::string& torch) {
  const Build build = [network](const std::vector<Value>& x) {
    split_in_two(x[0], 5);
    return network(x[0]);
  };
  cases.push_back(layer(name, {{{11, 4}, f32, -1, 1}}, build, torch, -0.75, 0.75));
  cases.back().tolerance = 2e-4;  // errors of several products add up
}

void add_structured(std::vector<Case>& cases) {
  cases.push_back(layer(
      "crf_loss", {{{7, 3}}, {{7}, i64, 0, 3}},
      [](const std::vector<Value>& x) {
        split_in_two(x[0], 3);
        return nn::crf_loss(x[0], x[1], nn::crf_scores(x[0]));
      },
      "formulas.crf(x[0], [3, 4], *x[1:])"));
  cases.push_back(layer(
      "ctc_loss", {{{11, 4}}, {{5}, i64, 1, 4}},
      [](const std::vector<Value>& x) {
        split_in_two(x[0], 5);
        split_in_two(x[1], 2);
        return nn::ctc_loss(x[0], x[1]);
      },
      "formulas.ctc_loss(x[0], [5, 6], x[1], [2, 3])"));
}

Value joined(const std::vector<Value>& values) {
  std::vector<Value> flat;
  for (const Value& value : values) flat.push_back(reshape(value, {-1}));
  return concat(flat, 0);
}

// Cases of 3 sequences of 5 steps, with states before and after them.
void add_dense_recurrent(std::vector<Case>& cases) {
  const auto add_case = [&](const std::string& name, const std::vector<Input>& states,
                            const Build& build, const std::string& torch) {
    std::vector<Input> inputs = {{{3, 5, 4}, f32, -1, 1}};
    inputs.insert(inputs.end(), states.begin(), states.end());
    cases.push_back(layer(name, inputs, build, torch, -0.75, 0.75));
    cases.back().tolerance = 2e-4;
  };
  add_case(
      "dense simple_rnn with states, reverse", {{{1, 3, 2}}},
      [](auto& x) {
        const auto y =
            nn::simple_rnn_with_states(x[0], {.units = 2, .reverse = true, .initial = x[1]});
        return joined({flip(y.outputs, {.axes = {1}}), y.h});
      },
      "modules.dense_recurrent('RNN', x[0].flip(1), x[1:2], x[2:], 2)");
  add_case(
      "dense gru with states, both ways, 2 layers", {{{4, 3, 2}}},
      [](auto& x) {
        const auto y = nn::gru_with_states(
            x[0], {.units = 2, .layers = 2, .bidirectional = true, .initial = x[1]});
        return joined({y.outputs, y.h});
      },
      "modules.dense_recurrent('GRU', x[0], x[1:2], x[2:], 2, 2, 2)");
  add_case(
      "dense lstm with states, 2 layers, projection", {{{2, 3, 2}}, {{2, 3, 3}}},
      [](auto& x) {
        const auto y = nn::lstm_with_states(x[0], {.units = 3,
                                                   .layers = 2,
                                                   .projection = 2,
                                                   .forget_bias = 0,
                                                   .initial_h = x[1],
                                                   .initial_c = x[2]});
        return joined({y.outputs, y.h, y.c});
      },
      "modules.dense_recurrent('LSTM', x[0], x[1:3], x[3:], 3, 2, 1, 2)");
  cases.push_back(layer(
      "simple_rnn_cell", {{{3, 4}}, {{3, 2}}},
      [](auto& x) { return nn::simple_rnn_cell(x[0], x[1], {.units = 2}); },
      "modules.simple_cell(x[0], x[1], x[2:])", -0.75, 0.75));
}

}  // namespace

void add_recurrent(std::vector<Case>& cases) {
  add(
      cases, "simple_rnn", [](const Value& x) { return nn::simple_rnn(x, {.units = 3}); },
      "modules.recurrent('RNN', x[0], [5, 6], x[1:], 3)");
  add(
      cases, "gru", [](const Value& x) { return nn::gru(x, {.units = 3}); },
      "modules.recurrent('GRU', x[0], [5, 6], x[1:], 3)");
  add(
      cases, "gru both ways, 2 layers",
      [](const Value& x) { return nn::gru(x, {.units = 3, .layers = 2, .bidirectional = true}); },
      "modules.recurrent('GRU', x[0], [5, 6], x[1:], 3, 2, 2)");
  add(
      cases, "lstm", [](const Value& x) { return nn::lstm(x, {.units = 3, .forget_bias = 0}); },
      "modules.recurrent('LSTM', x[0], [5, 6], x[1:], 3)");
  add(
      cases, "lstm both ways, 2 layers",
      [](const Value& x) {
        return nn::lstm(x, {.units = 3, .layers = 2, .bidirectional = true, .forget_bias = 0});
      },
      "modules.recurrent('LSTM', x[0], [5, 6], x[1:], 3, 2, 2)");
  add(
      cases, "lstm with a projection",
      [](const Value& x) {
        return nn::lstm(x, {.units = 5, .layers = 2, .projection = 2, .forget_bias = 0});
      },
      "modules.recurrent('LSTM', x[0], [5, 6], x[1:], 5, 2, 1, 2)");
  add(
      cases, "lstm with peepholes",
      [](const Value& x) { return nn::lstm(x, {.units = 3, .peepholes = true}); },
      "modules.peephole_lstm(x[0], [5, 6], x[1:], 3, 1.0)");
  add_dense_recurrent(cases);
  add_structured(cases);
}

}  // namespace trireme::conformance
