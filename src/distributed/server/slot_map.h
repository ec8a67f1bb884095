#pragma once

// The server of each slot.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "distributed/table/slots.h"

namespace trireme::distributed {

inline constexpr int kMaxServers = 4096;

// A value. Servers are numbered from 0; every change is a new version.
class SlotMap {
 public:
  // Version 0: no server has any slot.
  SlotMap() { owners_.fill(kNobody); }
  // Shares differ by at most one slot; each is a run of adjacent slots. Errors: usage unless 1 to
  // kMaxServers.
  static SlotMap balanced(int servers, std::uint32_t version = 1);
  // The next version on servers 0 to servers - 1: balanced, with the fewest moves.
  SlotMap moved_to(int servers) const;
  // The next version with slots [first, last) on one server: a step towards another map.
  SlotMap moved(int first, int last, int server) const;

  std::uint32_t version() const { return version_; }
  int servers() const { return servers_; }
  // -1: none.
  int owner(int slot) const {
    const std::uint16_t owner = owners_[static_cast<std::size_t>(slot)];
    return owner == kNobody ? -1 : owner;
  }

  // A little more than 32 KiB. Errors of from_bytes: data for an invalid map.
  std::string to_bytes() const;
  static SlotMap from_bytes(std::string_view bytes);
  bool operator==(const SlotMap&) const = default;

 private:
  static constexpr std::uint16_t kNobody = 0xffff;
  std::uint32_t version_ = 0;
  int servers_ = 0;
  std::array<std::uint16_t, kSlots> owners_;
};

}  // namespace trireme::distributed
