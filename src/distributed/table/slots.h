#pragma once

// Ids, their hashes and their slots. These are part of the format: servers, trainers and files of
// all versions agree on them.

#include <cstdint>

namespace trireme::distributed {

using Id = std::uint64_t;  // every value is an id

inline constexpr int kSlots = 16384;  // of every table; one server has all rows of a slot

struct SlotRange {
  std::int32_t first = 0, last = kSlots;  // [first, last)
  friend bool operator==(const SlotRange&, const SlotRange&) = default;
};

// The finalizer of SplitMix (Steele et al., "Fast splittable pseudorandom number generators", 2014)
// after the addition of its constant. It is one-to-one, so a hash identifies its id.
inline std::uint64_t hash_of(Id id) {
  std::uint64_t z = id + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Returns the id with this hash.
inline Id id_of(std::uint64_t z) {
  z = (z ^ (z >> 31) ^ (z >> 62)) * 0x319642b2d24d8ec3u;
  z = (z ^ (z >> 27) ^ (z >> 54)) * 0x96de1b173f119089u;
  return (z ^ (z >> 30) ^ (z >> 60)) - 0x9e3779b97f4a7c15u;
}

// Returns the highest 14 bits of a hash.
inline int slot_of_hash(std::uint64_t hash) { return static_cast<int>(hash >> 50); }
inline int slot_of(Id id) { return slot_of_hash(hash_of(id)); }

}  // namespace trireme::distributed
