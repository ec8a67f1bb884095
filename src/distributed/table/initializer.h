#pragma once

#include <string>

#include "distributed/table/options.h"
#include "distributed/table/slots.h"

namespace trireme::distributed {

// The initial weights of rows, by Philox: element i of row `id` comes from word i % 4 of
// philox4x32_10({low and high half of id, i / 4, 0}, key), where key is
// seed_of_run(seed, hash64(name)). uniform takes the highest 24 bits of its word; normal is
// Box-Muller of words 0 and 1 (elements 0 and 1 of four) and 2 and 3.
class Initializer {
 public:
  Initializer(const RowInitializer& description, std::uint64_t seed, const std::string& name);
  void fill(Id id, float* weights, std::size_t width) const;

 private:
  RowInitializer description_;
  std::uint64_t key_;
};

}  // namespace trireme::distributed
