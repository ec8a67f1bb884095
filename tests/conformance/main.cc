// The conformance suite of ops: every op of the catalog, with all its samples. Each check is one
// column.
//
// usage: conformance [--op NAME]... [--no-torch] [--no-differences] [--every N] [--derivatives N]
//                    [--python PATH] [--source DIR]
//
// --every N checks only every Nth case of each op. --derivatives N is about how many elements of
// each operand finite differences check (200). --source DIR is the folder with torch_reference.py.
//
// The exit status is 0 only if no cell of the table failed and every empty cell has a reason.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.h"
#include "checks.h"
#include "torch_reference.h"

namespace trireme::conformance {
namespace {

struct Arguments {
  std::vector<std::string> ops;
  bool torch = true, differences = true;
  std::size_t every = 1, derivatives = 200;
  std::string python = "/usr/bin/python3";
  std::string source = TRIREME_SOURCE;
};

struct Row {
  std::string op;
  Column reference, gradient;
  CompiledColumns compiled;
  TorchColumns torch_reference;
};

constexpr const char* kNoGradient = "not differentiable";
constexpr const char* kNotSmooth = "not smooth at the samples";

void check(const Case& c, const Arguments& arguments, Row& row, TorchReference& torch_reference) {
  std::vector<std::vector<ops::RefTensor>> expected;
  for (const Run& run : c.runs) {
    ++row.reference.cases;
    expected.push_back(expected_of(c, run));
    if (arguments.differences)
      check_gradient(c, run, expected.back(), arguments.derivatives, row.gradient);
    if (!c.torch_reference.empty()) torch_reference.add(c, run, expected.back());
  }
  check_compiled(c, expected, row.compiled);
}

Row check(const ops::Op& op, const Arguments& arguments, TorchReference& torch_reference) {
  Row row;
  row.op = op.name;
  try {
    const std::vector<Case> cases = cases_of(op);
    for (std::size_t i = 0; i < cases.size(); i += arguments.every) {
      check(cases[i], arguments, row, torch_reference);
    }
  } catch (const std::exception& error) {
    row.reference.fail(op.name + ": " + error.what());
  }
  return row;
}

// Sets the reason in each column without cases.
void give_reasons(const ops::Op& op, const Arguments& arguments, Row& row) {
  if (op.variadic_results) {  // the suite has no Programs with blocks
    row.reference.reason = row.compiled.one_thread.reason = row.compiled.two_threads.reason =
        row.compiled.interpreter.reason = row.compiled.unfused.reason =
            row.compiled.generated.reason = row.gradient.reason =
                row.torch_reference.values.reason = row.torch_reference.gradients.reason =
                    op.no_torch_reason;
    return;
  }
  const bool differentiable = op.gradient && !op.has(ir::Trait::not_differentiable);
  if (!differentiable) {
    row.gradient.reason = row.torch_reference.gradients.reason = kNoGradient;
  } else if (!arguments.differences) {
    row.gradient.reason = "--no-differences";
  } else if (row.gradient.cases == 0) {
    row.gradient.reason = row.torch_reference.gradients.reason = kNotSmooth;
  }
  std::string reason = op.no_torch_reason;
  if (!arguments.torch) reason = "--no-torch";
  if (reason.empty()) return;
  row.torch_reference.values.reason = reason;
  if (differentiable) row.torch_reference.gradients.reason = reason;
}

std::string cell(const Column& column) {
  if (!column.failure.empty()) return "FAIL";
  if (column.cases == 0) return column.reason.empty() ? "MISSING" : "-";
  char text[24];
  if (column.worst == 0) return "exact";
  std::snprintf(text, sizeof text, "%.0e", column.worst);
  return text;
}

std::vector<const Column*> columns_of(const Row& row) {
  return {&row.reference,
          &row.compiled.one_thread,
          &row.compiled.two_threads,
          &row.compiled.interpreter,
          &row.compiled.unfused,
          &row.compiled.generated,
          &row.gradient,
          &row.torch_reference.values,
          &row.torch_reference.gradients};
}

// Prints the table and returns the number of cells that failed or are missing without a reason.
int print_table(const std::vector<Row>& rows) {
  std::printf("Largest relative error over all cases; \"-\" is explained below.\n\n");
  std::printf("%-24s %5s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "op", "cases", "reference",
              "1 thread", "2 threads", "interpr.", "unfused", "generated", "gradient", "PyTorch",
              "PT grad");
  int failed = 0, cases = 0;
  for (const Row& row : rows) {
    std::printf("%-24s %5d", row.op.c_str(), row.reference.cases);
    cases += row.reference.cases;
    for (const Column* column : columns_of(row)) {
      const std::string text = cell(*column);
      failed += text == "FAIL" || text == "MISSING";
      std::printf(" %9s", text.c_str());
    }
    std::printf("\n");
  }
  std::printf("\n");
  for (const Row& row : rows) {
    const std::string torch_reference = row.torch_reference.values.reason,
                      gradient = row.gradient.reason;
    if (!gradient.empty())
      std::printf("%s: no gradient checked: %s\n", row.op.c_str(), gradient.c_str());
    if (!torch_reference.empty())
      std::printf("%s: not compared with PyTorch: %s\n", row.op.c_str(), torch_reference.c_str());
  }
  for (const Row& row : rows) {
    for (const Column* column : columns_of(row)) {
      if (!column->failure.empty()) std::printf("FAIL %s\n", column->failure.c_str());
    }
  }
  std::printf("\n%zu ops, %d cases, %d cells failed or missing\n", rows.size(), cases, failed);
  return failed;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto next = [&] {
      if (++i >= argc) fail_usage("conformance: " + word + " needs a value");
      return std::string(argv[i]);
    };
    if (word == "--op") arguments.ops.push_back(next());
    else if (word == "--no-torch") arguments.torch = false;
    else if (word == "--no-differences") arguments.differences = false;
    else if (word == "--every")
      arguments.every = static_cast<std::size_t>(std::max(1, std::atoi(next().c_str())));
    else if (word == "--derivatives")
      arguments.derivatives = static_cast<std::size_t>(std::max(1, std::atoi(next().c_str())));
    else if (word == "--python") arguments.python = next();
    else if (word == "--source") arguments.source = next();
    else fail_usage("conformance: unknown option " + word);
  }
  if (arguments.ops.empty()) arguments.ops = ops::catalog().names();
  return arguments;
}

int run(const Arguments& arguments) {
  TorchReference torch_reference;
  std::vector<Row> rows;
  for (const std::string& name : arguments.ops) {
    const ops::Op* op = ops::catalog().find(name);
    if (!op) fail_usage("conformance: unknown op " + name);
    rows.push_back(check(*op, arguments, torch_reference));
  }
  if (arguments.torch) {
    const auto columns =
        torch_reference.run(arguments.python, arguments.source + "/torch_reference.py");
    for (Row& row : rows) {
      if (const auto found = columns.find(row.op); found != columns.end())
        row.torch_reference = found->second;
    }
  }
  for (Row& row : rows) give_reasons(*ops::catalog().find(row.op), arguments, row);
  return print_table(rows) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace trireme::conformance

int main(int argc, char** argv) {
  try {
    return trireme::conformance::run(trireme::conformance::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
