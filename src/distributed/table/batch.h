#pragma once

// The ids of one call in an order that takes each lock once, and sums of gradients of equal ids.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "distributed/table/slots.h"

namespace trireme::distributed {

// Every 64th slot shares a lock, so that a server with a range of slots uses all locks.
inline constexpr int kGroups = 64;
inline int group_of_hash(std::uint64_t hash) { return static_cast<int>(hash >> 50) % kGroups; }
inline std::size_t place_in_group(std::uint64_t hash) {
  return static_cast<std::size_t>(hash >> 50) / kGroups;
}

struct BatchItem {
  std::uint64_t hash;
  std::uint32_t position;  // in the arguments of the call
  std::uint32_t row;       // free for the user of the batch
};

// Each thread has one and reuses it: new memory for every call would cost more than the call.
class Batch {
 public:
  // Returns the batch of this thread with these ids; ids of one group keep their order. Errors:
  // usage for 2^32 ids or more.
  static Batch& of(std::span<const Id> ids);

  std::size_t size() const { return items_.size(); }
  std::span<BatchItem> group(int group) {
    const std::size_t begin = begins_[static_cast<std::size_t>(group)];
    return {items_.data() + begin, begins_[static_cast<std::size_t>(group) + 1] - begin};
  }

  // A row of `width` floats for one id: the sum, in their order, of the rows with this id.
  struct Sum {
    std::uint64_t hash;
    const float* values;
    std::uint32_t row, times;  // row: free for the user
  };
  // Returns the sums for the items of the group; valid until the next call.
  std::span<Sum> sums(int group, const float* rows, std::size_t width);
  // The same, but of several rows for one id the last counts.
  std::span<Sum> lasts(int group, const float* rows, std::size_t width);

 private:
  template <class Again>
  std::span<Sum> merge(int group, const float* rows, std::size_t width, const Again& again);

  std::vector<BatchItem> items_;
  std::array<std::size_t, kGroups + 1> begins_ = {};
  std::vector<std::uint64_t> hashes_;
  std::vector<Sum> sums_;
  std::vector<std::uint32_t> places_;  // hash table of indices into sums_
  std::vector<float> added_;
};

}  // namespace trireme::distributed
