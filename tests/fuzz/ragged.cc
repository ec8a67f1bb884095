#include "trireme/ragged.h"

#include <numeric>

#include "fuzz.h"

namespace {

using trireme::RaggedTensor;
using trireme::Tensor;

// One number for each byte, from -128 to 127; the first byte says how many there are.
Tensor take_numbers(std::string_view& bytes) {
  if (bytes.empty()) return Tensor(trireme::i64, {0});
  const std::size_t count =
      std::min<std::size_t>(static_cast<unsigned char>(bytes[0]), bytes.size() - 1);
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 1; i <= count; ++i) numbers.push_back(static_cast<signed char>(bytes[i]));
  bytes.remove_prefix(count + 1);
  return Tensor::from({static_cast<std::int64_t>(count)}, numbers);
}

// What must be true of all that was accepted.
void check(const RaggedTensor& ragged) {
  std::int64_t things = ragged.size();
  for (int level = 0; level < ragged.levels(); ++level) {
    const std::vector<std::int64_t> lengths = ragged.lengths(level);
    if (static_cast<std::int64_t>(lengths.size()) != things) __builtin_trap();
    for (const std::int64_t length : lengths) {
      if (length < 0) __builtin_trap();
    }
    things = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  }
  if (things != ragged.rows().dim(0)) __builtin_trap();
  std::vector<std::int64_t> all(static_cast<std::size_t>(ragged.size()));
  std::iota(all.begin(), all.end(), 0);
  if (!equal(ragged.gather(all), ragged)) __builtin_trap();
  if (!equal(ragged.slice(0, ragged.size()), ragged)) __builtin_trap();
  if (ragged.str().empty()) __builtin_trap();
}

}  // namespace

// Splits of one to three levels, from feeds; the first two bytes are the levels and the rows.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  return fuzz(data + 2, size - 2, [&](std::string_view bytes) {
    const int levels = 1 + data[0] % 3;
    std::map<std::string, Tensor> feeds{{"x", Tensor(trireme::u8, {data[1]})}};
    for (int level = 0; level < levels; ++level) {
      feeds[trireme::splits_name("x", level, levels)] = take_numbers(bytes);
    }
    check(RaggedTensor::from_feeds(feeds, "x"));
  });
}
