#pragma once

// The ids of a call, each once, in the order of their slots.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "distributed/table/slots.h"

namespace trireme::distributed {

class Plan {
 public:
  // Errors: usage, for 2^32 ids or more.
  explicit Plan(std::span<const Id> ids);

  std::size_t size() const { return ids_.size(); }
  const std::vector<Id>& ids() const { return ids_; }
  int slot(std::size_t i) const { return slots_[i]; }
  // Where id i stood in the call, rising.
  std::span<const std::uint32_t> positions(std::size_t i) const {
    return std::span(positions_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }
  // Of rows[][width] of the call one for each id: the sum in their order, where there are several.
  std::shared_ptr<float[]> sums(const float* rows, std::size_t width) const;

 private:
  std::vector<Id> ids_;
  std::vector<std::uint16_t> slots_;
  std::vector<std::uint32_t> begins_, positions_;
};

}  // namespace trireme::distributed
