#include <algorithm>
#include <cmath>

#include "base/float_text.h"
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

std::vector<Tensor> run(Case& c, SessionOptions options) {
  options.seed = kSeed;
  Session session(*c.program, std::move(options));
  Feeds feeds;
  std::vector<Value> fetches;
  for (const auto& input : c.program->ir().main().arguments) {
    feeds[input->name] = to_tensor(c.inputs.at(input->name), input->type.dtype);
  }
  for (const auto& parameter : c.program->ir().parameters()) {
    session.set_parameter(parameter->name(), to_tensor(c.parameters.at(parameter->name()),
                                                       parameter->value->type.dtype));
  }
  if (c.updates) {  // what was assigned is read after the run
    session.run(feeds, {}, {.training = true, .updates = true});
    return {session.parameter(c.operands[0]->name)};
  }
  for (ir::Value* value : c.results) fetches.emplace_back(value);
  for (ir::Value* value : c.gradients) fetches.emplace_back(value);
  return session.run(feeds, fetches, {.training = true});
}

std::string name_of_output(const Case& c, std::size_t i) {
  if (i < c.results.size()) return "result " + std::to_string(i);
  return "the gradient by " + c.wanted[i - c.results.size()]->name;
}

void compare(const Case& c, const std::vector<Tensor>& got,
             const std::vector<ops::RefTensor>& expected, Column& column) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = distance(to_reference(got[i]), expected[i]);
    column.worst = std::max(column.worst, error);
    if (error <= c.tolerance) continue;
    column.fail(c.label + ": " + name_of_output(c, i) + " is " + got[i].str() +
                ", off by " + float_text(error));
  }
}

void require_same_bits(const Case& c, const std::vector<Tensor>& one,
                       const std::vector<Tensor>& two, Column& column) {
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (!equal(one[i], two[i])) {
      column.fail(c.label + ": " + name_of_output(c, i) + " differs between 1 and 2 threads");
    }
  }
}

// Runs `f`, and counts what it throws as a failure.
template <class F>
void guarded(const Case& c, Column& column, F f) {
  ++column.cases;
  try {
    f();
  } catch (const std::exception& error) {
    column.fail(c.label + ": " + error.what());
  }
}

}  // namespace

void check_compiled(Case& c, const std::vector<ops::RefTensor>& expected,
                    CompiledColumns& columns) {
  std::vector<Tensor> one;
  guarded(c, columns.one_thread, [&] {
    one = run(c, {.threads = 1});
    compare(c, one, expected, columns.one_thread);
  });
  guarded(c, columns.two_threads, [&] {
    const std::vector<Tensor> two = run(c, {.threads = 2});
    compare(c, two, expected, columns.two_threads);
    if (!one.empty()) require_same_bits(c, one, two, columns.two_threads);
  });
  guarded(c, columns.interpreter, [&] {
    compare(c, run(c, {.threads = 1, .interpreter = true}), expected, columns.interpreter);
  });
  guarded(c, columns.unfused, [&] {
    compare(c, run(c, {.threads = 1, .fuse = false}), expected, columns.unfused);
  });
}

}  // namespace trireme::conformance
