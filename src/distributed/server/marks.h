#pragma once

// What has been applied already, so that asking again does no harm.

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "distributed/table/slots.h"

namespace trireme::distributed {

// Whose numbers those of a push are: a sender's, which count its pushes; or a task's, whose batches whoever has
// the task pushes in the same order. What is counted of a batch has marks of its own.
struct Source {
  enum class Kind : std::uint8_t { sender, task, count_of_sender, count_of_task };
  static constexpr std::uint8_t kKinds = 4;
  Kind kind = Kind::sender;
  std::uint32_t number = 0;
  auto operator<=>(const Source&) const = default;
};

// Which numbers were seen: of the last 64 each one is known, all before them count as seen.
class Mark {
 public:
  static constexpr std::uint64_t kWindow = 64;
  bool has(std::uint64_t number) const {
    if (number > high_) return false;
    return high_ - number >= kWindow || (seen_ >> (high_ - number) & 1) != 0;
  }
  void add(std::uint64_t number);
  bool operator==(const Mark&) const = default;

  std::uint64_t high() const { return high_; }
  std::uint64_t seen() const { return seen_; }
  static Mark of(std::uint64_t high, std::uint64_t seen) { return Mark(high, seen); }
  Mark() = default;

 private:
  Mark(std::uint64_t high, std::uint64_t seen) : high_(high), seen_(seen) {}
  std::uint64_t high_ = 0, seen_ = ~std::uint64_t{0};  // numbers count from 1
};

// The marks of one table: of every source in every slot, so that they move with the slots. Memory is bounded: of more than
// `most` sources those are forgotten that have pushed least recently; a source takes 16 bytes for each slot that it
// has touched, in pieces of 64 slots.
class Marks {
 public:
  // What one source has. Locked while a push of it is applied, so that the same push does not run twice at once.
  class Of {
   public:
    std::mutex mutex;
    bool has(int slot, std::uint64_t number) const;
    void add(int slot, std::uint64_t number) { at(slot).add(number); }

   private:
    friend class Marks;
    using Page = std::array<Mark, 64>;
    Mark& at(int slot);
    std::array<std::unique_ptr<Page>, kSlots / 64> pages_;
  };

  explicit Marks(std::size_t most) : most_(most) {}
  std::shared_ptr<Of> of(const Source& source);
  // All marks of the slots [first, last) as entries, and the way back, which takes the place of what is there.
  struct Entry {
    std::uint32_t number;
    std::uint16_t slot;
    std::uint8_t kind, zero;
    std::uint64_t high, seen;
  };
  std::vector<Entry> read(int first, int last) const;
  void insert(std::span<const Entry> entries);
  void drop(int first, int last);
  std::size_t sources() const;
  std::uint64_t forgotten() const;

 private:
  std::vector<std::pair<Source, std::shared_ptr<Of>>> all() const;

  struct Kept {
    std::shared_ptr<Of> of;
    std::list<Source>::iterator place;
  };
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::map<Source, Kept> sources_;
  std::list<Source> recent_;  // the last that pushed first
  std::uint64_t forgotten_ = 0;
};

}  // namespace trireme::distributed
