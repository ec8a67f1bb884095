#include <limits>

#include "functions.h"
#include "ir/program.h"
#include "transforms/autodiff.h"
#include "trireme/nn.h"
#include "trireme/recurrent.h"
#include "trireme/sequence.h"
#include "trireme/structured.h"

namespace trireme::edges {
namespace {

using Tensors = std::vector<Tensor>;
using OfSequences = std::function<Value(const Value& x)>;

// exact.RECURRENT has the same numbers.
void set_parameters(const Program& program, Session& session) {
  const std::pair<std::string_view, std::vector<double>> all[] = {
      {".weight", {1, -0.5, 2, 0.5}},
      {".recurrent", {0.5, 1, -1, 2}},
      {".bias", {0, 0.125, -0.25, 0.375}},
      {".recurrent_bias", {0.75}}};
  for (const auto& parameter : program.ir().parameters()) {
    for (const auto& [ending, numbers] : all) {
      if (!parameter->name().ends_with(ending)) continue;
      const Tensor first = session.parameter(parameter->name());
      const auto end = numbers.begin() + first.elements();
      session.set_parameter(
          parameter->name(),
          Tensor::from<double>(first.shape(), std::vector<double>(numbers.begin(), end))
              .cast(first.dtype()));
    }
  }
}

// Each row of x[0] is three sequences, which end at the two places of x[1] and at the end of the
// row. All rows are one input. Returns the results for each row of x[0], and the gradient of their
// weighted sum.
Tensors of_sequences(const OfSequences& function, const Tensors& x, const SessionOptions& options) {
  const DType dtype = x[0].dtype();
  const std::int64_t count = x[0].dim(0), width = x[0].dim(1);
  Program program("sequences");
  const Value words = program.input("words", dtype, ragged({batch}, {1}));
  const Value y = function(words);
  const Value weight = program.input("weight", dtype, y.shape());
  const Value gradient(transforms::gradients(sum(y * weight).get(), {words.get()})[0]);
  std::vector<std::int64_t> splits = {0};
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t* ends = x[1].data<std::int64_t>() + 2 * row;
    for (const std::int64_t end : {ends[0], ends[1], width}) splits.push_back(row * width + end);
  }
  const auto shape = evaluate(y.shape(), {{"batch", 3 * count}, {"words", count * width}});
  const auto ends = static_cast<std::int64_t>(splits.size());
  Session session(program, options);
  set_parameters(program, session);
  const Tensors got = session.run({{"words", x[0].reshaped({count * width, 1})},
                                   {"words.splits", Tensor::from<std::int64_t>({ends}, splits)},
                                   {"weight", weights(dtype, shape)}},
                                  {y, gradient}, {.training = true});
  return {got[0].reshaped({count, -1}), got[1].reshaped({count, width})};
}

void add(std::vector<Function>& all, const std::string& name, const OfSequences& function) {
  const Source cuts{{{0, 0}, {0, 2}, {2, 2}, {4, 4}, {1, 3}}, true, DType::i64};
  all.push_back({.name = "sequence " + name,
                 .torch = "exact.sequences('" + name + "', *x)",
                 .sources = [=](DType d) { return std::vector{rows(d, 4), cuts}; },
                 .dtypes = {DType::f32, DType::f64},
                 .compute =
                     [=](const Tensors& x, const SessionOptions& options) {
                       return of_sequences(function, x, options);
                     }});
}

// exact.CTC_LABELS has the same. The last needs a blank, and with it more rows than there are.
const std::vector<std::int64_t> kLabels[] = {{}, {1}, {1, 1}, {1, 1, 2}, {2, 1, 2, 2}};

// Each row of x[0] is a sequence of four rows with logits of three classes, and x[1] says which are
// its labels. Returns the losses and the gradient of their weighted sum.
Tensors ctc_losses(const Tensors& x, const SessionOptions& options) {
  const DType dtype = x[0].dtype();
  const std::int64_t count = x[0].dim(0);
  Program program("ctc");
  const Value logits = program.input("logits", dtype, ragged({batch}, {3}));
  const Value loss = nn::ctc_loss(logits, program.input("labels", DType::i64, ragged({batch})));
  const Value weight = program.input("weight", dtype, loss.shape());
  const Value gradient(transforms::gradients(sum(loss * weight).get(), {logits.get()})[0]);
  std::vector<std::int64_t> splits = {0}, labels, label_splits = {0};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto& own = kLabels[x[1].data<std::int64_t>()[i]];
    splits.push_back(4 * (i + 1));
    labels.insert(labels.end(), own.begin(), own.end());
    label_splits.push_back(static_cast<std::int64_t>(labels.size()));
  }
  const auto line = [](const std::vector<std::int64_t>& numbers) {
    return Tensor::from<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, numbers);
  };
  Session session(program, options);
  const Tensors got = session.run({{"logits", x[0].reshaped({4 * count, 3})},
                                   {"logits.splits", line(splits)},
                                   {"labels", line(labels)},
                                   {"labels.splits", line(label_splits)},
                                   {"weight", weights(dtype, {count})}},
                                  {loss, gradient}, {.training = true});
  return {got[0], got[1].reshaped({count, 12})};
}

// Each row of x[0] is a batch of one channel.
Tensors batch_norms(const Tensors& x, const SessionOptions& options) {
  const DType dtype = x[0].dtype();
  const std::int64_t count = x[0].dim(0), width = x[0].dim(1);
  Program program("batch_norm");
  const Value y =
      nn::batch_norm(program.input("x", dtype, {batch, 1}), {.affine = false, .name = "norm"});
  Session session(program, options);
  std::vector<double> results, running;
  const auto append = [](std::vector<double>& to, const Tensor& tensor) {
    const Tensor wide = tensor.cast(DType::f64);
    to.insert(to.end(), wide.data<double>(), wide.data<double>() + wide.elements());
  };
  for (std::int64_t row = 0; row < count; ++row) {
    session.set_parameter("norm.running_mean", Tensor(dtype, {1}));
    session.set_parameter("norm.running_var", Tensor::from<double>({1}, {1}).cast(dtype));
    append(results, session.run({{"x", x[0].rows(row, row + 1).reshaped({width, 1})}}, {y},
                                {.training = true, .updates = true})[0]);
    append(running, session.parameter("norm.running_mean"));
    append(running, session.parameter("norm.running_var"));
  }
  return {Tensor::from<double>({count, width}, results).cast(dtype),
          Tensor::from<double>({count, 2}, running).cast(dtype)};
}

}  // namespace

std::vector<Function> sequence_functions() {
  std::vector<Function> all;
  add(all, "sum", [](const Value& x) { return sequence::sum(x); });
  add(all, "mean", [](const Value& x) { return sequence::mean(x); });
  add(all, "sqrt_n", [](const Value& x) { return sequence::sqrt_n(x); });
  add(all, "max", [](const Value& x) { return sequence::max(x); });
  add(all, "min", [](const Value& x) { return sequence::min(x); });
  add(all, "first", [](const Value& x) { return sequence::first(x); });
  add(all, "last", [](const Value& x) { return sequence::last(x); });
  add(all, "softmax", [](const Value& x) { return sequence::softmax(x); });
  add(all, "reverse", [](const Value& x) { return sequence::reverse(x); });
  add(all, "top_k", [](const Value& x) { return sequence::top_k(x, {.k = 2, .by_size = true}); });
  add(all, "simple_rnn", [](const Value& x) { return nn::simple_rnn(x, {.units = 1}); });
  add(all, "gru", [](const Value& x) { return nn::gru(x, {.units = 1}); });
  add(all, "lstm", [](const Value& x) { return nn::lstm(x, {.units = 1}); });
  all.push_back(
      {.name = "ctc_loss",
       .torch = "exact.ctc_losses(*x)",
       .sources =
           [](DType d) { return std::vector{rows(d, 12), numbers(DType::i64, {0, 1, 2, 3, 4})}; },
       .dtypes = {DType::f32, DType::f64},
       .compute = ctc_losses});
  for (const std::size_t width : {4u, 1u, 37u}) {
    all.push_back({.name = "batch_norm",
                   .torch = "exact.batch_norm(x[0])",
                   .sources = [=](DType d) { return std::vector{rows(d, width)}; },
                   .dtypes = {DType::f32, DType::f64},
                   .compute = batch_norms});
  }
  return all;
}

}  // namespace trireme::edges
