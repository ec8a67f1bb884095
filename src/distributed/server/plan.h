#pragma once

// The distinct ids of a call in the order of their slots.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "distributed/table/slots.h"

namespace trireme::distributed {

class Plan {
 public:
  // Errors: usage for 2^32 ids or more.
  explicit Plan(std::span<const Id> ids);

  std::size_t size() const { return ids_.size(); }
  const std::vector<Id>& ids() const { return ids_; }
  int slot(std::size_t i) const { return slots_[i]; }
  // The positions of id i in the call, ascending.
  std::span<const std::uint32_t> positions(std::size_t i) const {
    return std::span(positions_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }
  // One row for each id from rows[][width] of the call: the sum of its rows in their order.
  std::shared_ptr<float[]> sums(const float* rows, std::size_t width) const;

 private:
  std::vector<Id> ids_;
  std::vector<std::uint16_t> slots_;
  std::vector<std::uint32_t> begins_, positions_;
};

}  // namespace trireme::distributed
