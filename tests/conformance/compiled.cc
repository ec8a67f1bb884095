#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "checks.h"
#include "trireme/session.h"

namespace trireme::conformance {
namespace {

Tensor to_tensor(const ops::RefTensor& from, DType dtype) {
  Tensor wide(DType::f64, from.shape);
  if (dtype == DType::i64) wide = Tensor(DType::i64, from.shape);
  for (std::size_t i = 0; i < from.data.size(); ++i) {
    if (dtype == DType::i64) {
      wide.data<std::int64_t>()[i] = static_cast<std::int64_t>(from.data[i]);
    } else {
      wide.data<double>()[i] = from.data[i];
    }
  }
  return dtype == wide.dtype() ? wide : wide.cast(dtype);
}

ops::RefTensor to_reference(const Tensor& from) {
  ops::RefTensor result(from.shape());
  if (from.dtype() == DType::i64) {
    const auto* data = from.data<std::int64_t>();
    std::transform(data, data + from.elements(), result.data.begin(),
                   [](std::int64_t x) { return static_cast<double>(x); });
    return result;
  }
  const Tensor wide = from.cast(DType::f64);
  std::copy_n(wide.data<double>(), wide.elements(), result.data.begin());
  return result;
}

SessionOptions with_seed(SessionOptions options) {
  options.seed = kSeed;
  return options;
}

std::vector<Tensor> run_in(Session& session, const Case& c, const Run& run) {
  Feeds feeds;
  std::vector<Value> fetches;
  for (const auto& input : c.program->ir().main().arguments) {
    feeds[input->name] = to_tensor(run.inputs.at(input->name), input->type.dtype);
  }
  for (const auto& parameter : c.program->ir().parameters()) {
    session.set_parameter(parameter->name(), to_tensor(run.parameters.at(parameter->name()),
                                                       parameter->value->type.dtype));
  }
  session.set_step(0);  // so that every run draws the same random numbers
  if (c.updates) {      // read the assigned parameter after the run
    session.run(feeds, {}, {.training = true, .updates = true});
    return {session.parameter(c.operands[0]->name)};
  }
  for (ir::Value* value : c.results) fetches.emplace_back(value);
  for (ir::Value* value : c.gradients) fetches.emplace_back(value);
  return session.run(feeds, fetches, {.training = true});
}

std::string output_name(const Case& c, std::size_t i) {
  if (i < c.results.size()) return "result " + std::to_string(i);
  return "the gradient with respect to " + c.wanted[i - c.results.size()]->name;
}

void compare(const Case& c, const Run& run, const std::vector<Tensor>& got,
             const std::vector<ops::RefTensor>& expected, Column& column) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = distance(to_reference(got[i]), expected[i]);
    column.worst = std::max(column.worst, error);
    if (error <= c.tolerance) continue;
    column.fail(run.label + ": " + output_name(c, i) + " is " + got[i].str() +
                ", with an error of " + float_text(error));
  }
}

void require_same_bits(const Case& c, const Run& run, const std::vector<Tensor>& one,
                       const std::vector<Tensor>& two, Column& column) {
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (!equal(one[i], two[i])) {
      column.fail(run.label + ": " + output_name(c, i) + " differs between 1 and 2 threads");
    }
  }
}

// Executes all runs in one kind of Session. A run that throws counts as a failure and has no
// outputs.
std::vector<std::vector<Tensor>> check_with(
    SessionOptions options, const Case& c, const std::vector<std::vector<ops::RefTensor>>& expected,
    Column& column) {
  std::vector<std::vector<Tensor>> outputs(c.runs.size());
  Session session(*c.program, with_seed(std::move(options)));
  for (std::size_t i = 0; i < c.runs.size(); ++i) {
    ++column.cases;
    try {
      outputs[i] = run_in(session, c, c.runs[i]);
      compare(c, c.runs[i], outputs[i], expected[i], column);
    } catch (const std::exception& error) {
      column.fail(c.runs[i].label + ": " + error.what());
    }
  }
  return outputs;
}

}  // namespace

void check_compiled(const Case& c, const std::vector<std::vector<ops::RefTensor>>& expected,
                    CompiledColumns& columns) {
  const auto one = check_with({.threads = 1}, c, expected, columns.one_thread);
  const auto two = check_with({.threads = 2}, c, expected, columns.two_threads);
  for (std::size_t i = 0; i < c.runs.size(); ++i) {
    if (one[i].size() == two[i].size()) {
      require_same_bits(c, c.runs[i], one[i], two[i], columns.two_threads);
    }
  }
  check_with({.threads = 1, .interpreter = true}, c, expected, columns.interpreter);
  check_with({.threads = 1, .fuse = false}, c, expected, columns.unfused);
  check_with({.threads = 2, .libraries = false}, c, expected, columns.generated);
}

}  // namespace trireme::conformance
