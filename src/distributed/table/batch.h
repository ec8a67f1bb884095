#pragma once

// The ids of one call, brought into an order that takes each lock once, and gradients of the same
// id added up.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "distributed/table/slots.h"

namespace trireme::distributed {

// Slots share a lock with every 64th other one, so that a server with a range of slots uses all
// locks.
inline constexpr int kGroups = 64;
inline int group_of_hash(std::uint64_t hash) { return static_cast<int>(hash >> 50) % kGroups; }
inline std::size_t place_in_group(std::uint64_t hash) {
  return static_cast<std::size_t>(hash >> 50) / kGroups;
}

struct BatchItem {
  std::uint64_t hash;
  std::uint32_t position;  // in the call's arguments
  std::uint32_t row;       // free for the user of the batch
};

// One per thread, used again by its next call: fresh memory for every call would cost more than the
// call.
class Batch {
 public:
  // The batch of this thread, filled with these ids; those of a group stay in their order.
  // Errors: usage, for 2^32 ids or more.
  static Batch& of(std::span<const Id> ids);

  std::size_t size() const { return items_.size(); }
  std::span<BatchItem> group(int group) {
    const std::size_t begin = begins_[static_cast<std::size_t>(group)];
    return {items_.data() + begin, begins_[static_cast<std::size_t>(group) + 1] - begin};
  }

  // A row of `width` floats for one id; of several rows for the same id the sum in their order.
  struct Sum {
    std::uint64_t hash;
    const float* values;
    std::uint32_t row, times;  // row: free for the user
  };
  // Of the rows that belong to the group's items. Valid until the next call.
  std::span<Sum> sums(int group, const float* rows, std::size_t width);
  // The same where of several rows for one id the last counts.
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
