#include "data/order.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace trireme::data {
namespace {

// The finalizer of splitmix64: a bijection of 64 bits that mixes well enough to serve as a
// counter-based generator.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

std::vector<std::int64_t> permutation(std::int64_t n, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t key = mix(mix(seed) + epoch);
  for (std::uint64_t i = order.size(); i > 1; --i) {
    // Scales 64 random bits to [0, i) by the high half of a product; the bias is below i / 2^64.
    const auto product = static_cast<unsigned __int128>(mix(key ^ i)) * i;
    std::swap(order[i - 1], order[static_cast<std::size_t>(product >> 64)]);
  }
  return order;
}

Parts hold_out(std::int64_t n, std::int64_t test_rows, std::uint64_t seed) {
  const std::vector<std::int64_t> order = permutation(n, seed, 0);
  const auto cut = order.end() - static_cast<std::ptrdiff_t>(test_rows);
  Parts parts{{order.begin(), cut}, {cut, order.end()}};
  std::sort(parts.train.begin(), parts.train.end());
  std::sort(parts.test.begin(), parts.test.end());
  return parts;
}

}  // namespace trireme::data
