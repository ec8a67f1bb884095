#include "layers.h"
#include "ops/common.h"
#include "trireme/ops.h"
#include "trireme/recurrent.h"
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
  add_structured(cases);
}

}  // namespace trireme::conformance
