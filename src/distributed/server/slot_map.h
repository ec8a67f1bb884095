#pragma once

// Which server has which slots.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "distributed/table/slots.h"

namespace trireme::distributed {

inline constexpr int kMostServers = 4096;

// A value. Servers are numbered from 0; every change is a new version.
class SlotMap {
 public:
  // Of version 0, in which no server has anything.
  SlotMap() { owners_.fill(kNobody); }
  // As many slots for each server as for any other, or one less; neighbouring slots together.
  // Errors: usage, for other than 1 to kMostServers.
  static SlotMap balanced(int servers, std::uint32_t version = 1);
  // The next version, on servers 0 to servers - 1: as balanced, with as few slots moved as can be.
  SlotMap moved_to(int servers) const;
  // The next version, with slots [first, last) at one server: a step on the way to another map.
  SlotMap moved(int first, int last, int server) const;

  std::uint32_t version() const { return version_; }
  int servers() const { return servers_; }
  // -1: nobody.
  int owner(int slot) const {
    const std::uint16_t owner = owners_[static_cast<std::size_t>(slot)];
    return owner == kNobody ? -1 : owner;
  }

  // 32 KiB and a little. Errors of from_bytes: data, for what is no map.
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
