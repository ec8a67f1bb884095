// Random Programs, compiled in every way and compared with the double-precision evaluator.
//
// usage: differential [--from SEED] [--count N] [--seconds S] [--print]
//
// Program number SEED + i is made from the seed SEED + i. --seconds ends the run earlier. --print
// prints each Program before it runs. A Program whose outputs differ is shrunk and printed; the
// exit status is then 1. After a crash the last line names the seed.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "base/error.h"
#include "compare.h"
#include "generate.h"
#include "ops/op.h"

namespace trireme::differential {
namespace {

struct Arguments {
  std::uint64_t from = 1, count = 100;
  double seconds = 1e9;
  bool print = false;
};

volatile std::uint64_t current_seed = 0;

void on_crash(int signal) {
  char text[64];
  const int length = std::snprintf(text, sizeof text, "\nsignal %d in seed %llu\n", signal,
                                   static_cast<unsigned long long>(current_seed));
  if (::write(2, text, static_cast<std::size_t>(length)) < 0) ::_exit(3);
  ::_exit(3);
}

struct Totals {
  std::uint64_t programs = 0, ops = 0, empty = 0, refused = 0, findings = 0;
  std::map<std::string, std::uint64_t> by_op;
};

void count_ops(const ir::Block& block, Totals& totals) {
  for (const auto& op : block.ops) {
    ++totals.ops;
    ++totals.by_op[op->name()];
    for (const auto& inner : op->blocks) count_ops(*inner, totals);
  }
}

// The evaluator takes about a second for these.
constexpr std::int64_t kMostOperations = 20'000'000;

std::int64_t operations_of(const ir::Block& block, const SymbolSizes& sizes) {
  std::int64_t sum = 0;
  for (const auto& op : block.ops) {
    const auto& flops = ops::Catalog::of(*op).flops;
    try {
      if (flops) sum += flops(*op).evaluate(sizes);
    } catch (const Error&) {
      continue;  // a size that only a run knows
    }
    if (sum > kMostOperations) break;
  }
  return sum;
}

// Runs the Program with its first sizes, then with none and with more rows.
void try_program(const Generated& generated, const Arguments& arguments, Totals& totals) {
  Program& program = *generated.program;
  program.set_outputs(generated.fetches);
  if (arguments.print) std::printf("%s\n", program.str().c_str());
  const std::int64_t rows = first_batch(generated.seed);
  for (const std::int64_t size : {rows, std::int64_t{0}, rows + 4}) {
    const SymbolSizes sizes = sizes_of(generated.seed, size);
    if (operations_of(program.ir().main(), sizes) > kMostOperations) {
      ++totals.refused;
      continue;
    }
    ops::RefTensors numbers = numbers_for(generated.specs, sizes);
    add_initial_values(program, numbers);
    std::optional<std::string> found;
    try {
      found = difference(program, numbers, generated.seed, false);
      if (found) found = difference(program, numbers, generated.seed, true);
    } catch (const Error&) {
      ++totals.refused;
      continue;
    }
    if (!found) continue;
    ++totals.findings;
    std::printf("seed %llu, batch %lld: %s\n%s\n", static_cast<unsigned long long>(generated.seed),
                static_cast<long long>(size), found->c_str(), shrunk(program, numbers).c_str());
    std::fflush(stdout);
    return;
  }
}

int run(const Arguments& arguments) {
  for (const int signal : {SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL}) ::signal(signal, on_crash);
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Totals totals;
  for (std::uint64_t i = 0; i < arguments.count && elapsed() < arguments.seconds; ++i) {
    current_seed = arguments.from + i;
    const std::optional<Generated> generated = generate(current_seed);
    if (!generated) {
      ++totals.empty;
      continue;
    }
    ++totals.programs;
    count_ops(generated->program->ir().main(), totals);
    try_program(*generated, arguments, totals);
  }
  if (arguments.print) {
    for (const auto& [name, count] : totals.by_op) {
      std::printf("%-24s %llu\n", name.c_str(), static_cast<unsigned long long>(count));
    }
  }
  std::printf(
      "%llu Programs of %llu ops (%zu different), %llu runs refused, %.0f s: %llu findings\n",
      static_cast<unsigned long long>(totals.programs), static_cast<unsigned long long>(totals.ops),
      totals.by_op.size(), static_cast<unsigned long long>(totals.refused), elapsed(),
      static_cast<unsigned long long>(totals.findings));
  return totals.findings == 0 ? 0 : 1;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--print") {
      arguments.print = true;
      continue;
    }
    if (i + 1 >= argc) fail_usage("differential: " + word + " needs a value");
    const char* value = argv[++i];
    if (word == "--from") arguments.from = std::strtoull(value, nullptr, 10);
    else if (word == "--count") arguments.count = std::strtoull(value, nullptr, 10);
    else if (word == "--seconds") arguments.seconds = std::strtod(value, nullptr);
    else fail_usage("differential: unknown option " + word);
  }
  return arguments;
}

}  // namespace
}  // namespace trireme::differential

int main(int argc, char** argv) {
  try {
    return trireme::differential::run(trireme::differential::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
