#pragma once

// All-reduce around a ring (Patarasuk and Yuan 2009), in segments that follow each other closely: while one is being
// added the next ones are on their way. Each element is added up once, in the order of the ring, by whoever its
// segment passes, and its sum is copied: so all members get the same bits.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "distributed/collectives/mesh.h"

namespace trireme::distributed {

inline constexpr std::size_t kSegment =
    256 * 1024;                           // bytes: a few of them fit into a core's own cache
inline constexpr std::size_t kAhead = 4;  // segments that may arrive before they are wanted

void add_to(float* sum, const float* more, std::size_t count);
void add_to(double* sum, const double* more, std::size_t count);
void add_to(std::int64_t* sum, const std::int64_t* more, std::size_t count);
void divide(float* values, std::size_t count, int by);
void divide(double* values, std::size_t count, int by);
void divide(std::int64_t* values, std::size_t count, int by);

// One operation of one member.
template <class T>
class Ring {
 public:
  // Bytes that arrive before they are wanted, at most.
  static std::size_t room(std::size_t count, int ranks) {
    return std::min(kAhead, segments(count, ranks) * static_cast<std::size_t>(ranks - 1)) *
           kSegment;
  }
  // Of `count` elements at `data`. `scratch` has room for room() bytes. Uses slots `slot` and `slot` + 1.
  Ring(Mesh& mesh, T* data, std::size_t count, std::byte* scratch, std::uint64_t slot,
       Mesh::Clock::time_point deadline)
      : rank_(mesh.rank()),
        size_(mesh.size()),
        data_(data),
        count_(count),
        scratch_(reinterpret_cast<T*>(scratch)),
        slot_(slot),
        deadline_(deadline),
        whole_(mesh, data, count * sizeof(T)),
        incoming_(mesh, scratch, room(count, size_)),
        segments_(segments(count, size_)),
        total_(segments_ * static_cast<std::size_t>(size_ - 1)) {}

  void run(bool mean) {
    for (std::size_t j = 0; j < segments_; ++j) send(part(rank_, j), slot_);
    add_up(mean);
    collect();
    while (sent_ > 0) {
      whole_.wait_sent(deadline_);
      --sent_;
    }
  }

 private:
  struct Part {
    std::size_t first = 0, count = 0;  // elements
  };

  // Of each rank's share, the largest of which counts.
  static std::size_t segments(std::size_t count, int ranks) {
    const auto n = static_cast<std::size_t>(ranks);
    return ((count + n - 1) / n * sizeof(T) + kSegment - 1) / kSegment;
  }
  // Segment j of the share of rank `share`, counted around the ring.
  Part part(int share, std::size_t j) const {
    const auto owner = static_cast<std::size_t>(((share % size_) + size_) % size_);
    const auto ranks = static_cast<std::size_t>(size_);
    const std::size_t begin = cut(count_, owner, ranks), end = cut(count_, owner + 1, ranks);
    const std::size_t from = begin + cut(end - begin, j, segments_);
    return {from, begin + cut(end - begin, j + 1, segments_) - from};
  }
  // Where part i of n begins, the first ones being longer by one.
  static std::size_t cut(std::size_t count, std::size_t i, std::size_t n) {
    return count / n * i + std::min(i, count % n);
  }
  // Number k of those that arrive: first all segments of the share behind our own, and so on around the ring.
  Part arriving(std::size_t k, int share) const {
    return part(share - static_cast<int>(k / segments_), k % segments_);
  }

  void send(const Part& part, std::uint64_t slot) {
    if (part.count == 0) return;
    whole_.send((rank_ + 1) % size_, slot, part.first * sizeof(T), part.count * sizeof(T));
    ++sent_;
  }
  void expect_to_add(std::size_t k) {
    const Part part = arriving(k, rank_ - 1);
    if (part.count == 0) return;
    incoming_.receive((rank_ + size_ - 1) % size_, slot_, k % kAhead * kSegment,
                      part.count * sizeof(T));
  }
  void expect_whole(std::size_t k) {
    const Part part = arriving(k, rank_);
    if (part.count == 0) return;
    whole_.receive((rank_ + size_ - 1) % size_, slot_ + 1, part.first * sizeof(T),
                   part.count * sizeof(T));
  }

  // After this the share behind ours around the ring is complete here, and on its way to the others.
  void add_up(bool mean) {
    for (std::size_t k = 0; k < std::min(kAhead, total_); ++k) expect_to_add(k);
    for (std::size_t k = 0; k < total_; ++k) {
      const Part part = arriving(k, rank_ - 1);
      if (part.count > 0) {
        incoming_.wait_received(deadline_);
        add_to(data_ + part.first, scratch_ + k % kAhead * (kSegment / sizeof(T)), part.count);
      }
      const bool complete = k >= total_ - segments_;
      if (complete && mean) divide(data_ + part.first, part.count, size_);
      if (k + kAhead < total_) expect_to_add(k + kAhead);
      send(part, complete ? slot_ + 1 : slot_);
    }
  }

  // Complete segments arrive in their places. Nothing there is still to be sent: its sum could not be complete.
  void collect() {
    for (std::size_t k = 0; k < std::min(kAhead, total_); ++k) expect_whole(k);
    for (std::size_t k = 0; k < total_; ++k) {
      const Part part = arriving(k, rank_);
      if (part.count > 0) whole_.wait_received(deadline_);
      if (k + kAhead < total_) expect_whole(k + kAhead);
      if (k < total_ - segments_) send(part, slot_ + 1);
    }
  }

  const int rank_, size_;
  T* const data_;
  const std::size_t count_;
  T* const scratch_;
  const std::uint64_t slot_;
  const Mesh::Clock::time_point deadline_;
  Mesh::Buffer whole_, incoming_;
  const std::size_t segments_;  // of each share
  const std::size_t total_;     // that arrive in each of the two halves
  std::size_t sent_ = 0;
};

}  // namespace trireme::distributed
