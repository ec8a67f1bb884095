#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "base/philox.h"
#include "fuzz.h"
#include "ops/reference.h"
#include "program_mutator.h"
#include "trireme/session.h"

// Programs of strangers: parsed, compiled and run with small feeds, once with generated code and
// once with the interpreter, whose accesses AddressSanitizer sees. Both must refuse the same runs
// and return the same shapes. Limits bound the memory and time of a run.

using namespace trireme;

namespace {

constexpr std::size_t kMaxOps = 60;

// Sizes from 0 to 4 for the symbols of the inputs.
SymbolSizes sizes_of(const Program& program, std::uint64_t seed) {
  SymbolSizes sizes;
  const auto choose = [&](const Dim& dim) {
    if (const auto symbol = dim.symbol()) {
      sizes.try_emplace(*symbol, static_cast<std::int64_t>((seed >> (sizes.size() * 3 % 60)) % 5));
    }
  };
  for (const Value& input : program.inputs()) {
    for (const Dim& dim : input.shape()) choose(dim);
    const std::string& rows = input.get()->type.splits_of;
    if (rows.empty()) continue;
    if (const auto dim = Dim::parse(rows)) choose(*dim);
  }
  return sizes;
}

Tensor splits_for(const std::vector<std::int64_t>& shape, std::int64_t rows, std::uint64_t seed) {
  Tensor splits(DType::i64, shape);
  std::int64_t* data = splits.data<std::int64_t>();
  const std::int64_t count = splits.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    data[i] = static_cast<std::int64_t>(random_words(seed, 1, static_cast<std::uint64_t>(i))[0] %
                                        static_cast<std::uint64_t>(rows + 1));
  }
  std::sort(data, data + count);
  if (count > 0) data[0] = 0, data[count - 1] = rows;
  return splits;
}

// Small numbers of both signs; some are huge, infinite or NaN.
Tensor numbers_for(DType dtype, const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kSpecial[] = {1000000, -1000000, 1e30, -1e300, kInfinity, kNan, 0, -0.0};
  Tensor numbers(DType::f64, shape);
  double* data = numbers.data<double>();
  for (std::int64_t i = 0; i < numbers.elements(); ++i) {
    const auto words = random_words(seed, 2, static_cast<std::uint64_t>(i));
    data[i] = words[0] % 16 == 0
                  ? kSpecial[words[1] % 8]
                  : static_cast<double>(words[1] % 9) - 2 +
                        (is_float(dtype) ? static_cast<double>(words[2]) * 0x1p-32 : 0);
  }
  return numbers.cast(dtype);
}

Feeds feeds_for(const Program& program, const SymbolSizes& sizes, std::uint64_t seed) {
  Feeds feeds;
  for (const Value& input : program.inputs()) {
    const ir::Type& type = input.get()->type;
    const std::vector<std::int64_t> shape = evaluate(type.shape, sizes);
    for (const std::int64_t size : shape) {
      if (size < 0 || size > 64)
        throw Error(ErrorKind::usage, "an input that is too large for this test");
    }
    const std::string name = input.get()->name;
    if (type.splits_of.empty()) {
      feeds[name] = numbers_for(type.dtype, shape, seed + feeds.size());
      continue;
    }
    const std::int64_t rows = Dim::parse(type.splits_of)->evaluate(sizes);
    if (rows < 0 || rows > 64) throw Error(ErrorKind::usage, "too many rows for this test");
    feeds[name] = splits_for(shape, rows, seed + feeds.size());
  }
  return feeds;
}

// The shapes of the outputs, or the kind of the error.
std::string run(const Program& program, const Feeds& feeds, bool interpreter) {
  SessionOptions options{.threads = 1, .interpreter = interpreter};
  options.max_bytes = std::int64_t{64} << 20;
  options.max_operations = 20'000'000;
  std::string answer;
  try {
    Session session(program, options);
    for (const Tensor& output : session.run(feeds, program.outputs(), {.training = true})) {
      answer += output.type_str() + " ";
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return "error " + std::to_string(static_cast<int>(error.kind()));
  }
  return answer;
}

std::uint64_t compiled = 0;

}  // namespace

// Prints at the end how many inputs were Programs that compiled and ran; a run may refuse its
// numbers or reach a limit.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  std::atexit([] {
    std::fprintf(stderr, "Programs compiled and run: %llu\n",
                 static_cast<unsigned long long>(compiled));
  });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz(data, size, [](std::string_view text) {
    const Program program = Program::parse(text);
    if (program.ir().main().ops.size() > kMaxOps || program.outputs().empty()) return;
    const std::uint64_t seed = stream_named(text);
    const Feeds feeds = feeds_for(program, sizes_of(program, seed), seed);
    if (run(program, feeds, true) != run(program, feeds, false)) __builtin_trap();
    ++compiled;
  });
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  const std::string text = mutated_program({reinterpret_cast<const char*>(data), size}, seed);
  const std::size_t length = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), length);
  return length;
}
