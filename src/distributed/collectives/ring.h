#pragma once

// All-reduce around a ring (Patarasuk and Yuan 2009), in segments that follow each other closely:
// while one segment is added, the next ones are in transit. Each element is summed once, in the
// order of the ring, and its sum is copied, so that all members get the same bits.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "distributed/collectives/mesh.h"

namespace trireme::distributed {

inline constexpr std::size_t kSegment = 128 * 1024;  // bytes: fits into the cache of a core
// Most segments sent before the first one returns: more would leave the cache before they are read.
inline constexpr std::size_t kRingDepth = 4;

void accumulate(float* sum, const float* more, std::size_t count);
void accumulate(double* sum, const double* more, std::size_t count);
void accumulate(std::int64_t* sum, const std::int64_t* more, std::size_t count);
void divide(float* values, std::size_t count, int by);
void divide(double* values, std::size_t count, int by);
void divide(std::int64_t* values, std::size_t count, int by);

// One operation of one member.
template <class T>
class Ring {
 public:
  // For `count` elements at `data`. `scratch` has space for kSegment bytes.
  Ring(Mesh& mesh, T* data, std::size_t count, std::byte* scratch, Mesh::Clock::time_point deadline)
      : mesh_(mesh),
        rank_(mesh.rank()),
        size_(mesh.size()),
        data_(data),
        count_(count),
        scratch_(reinterpret_cast<T*>(scratch)),
        deadline_(deadline),
        segments_(segments(count, size_)),
        total_(segments_ * static_cast<std::size_t>(size_ - 1)),
        ahead_(std::min(kRingDepth, segments_)) {}

  void run(bool mean) {
    std::size_t sent = 0;
    for (std::size_t k = 0; k < 2 * total_; ++k) {
      for (; sent < std::min(k + ahead_, 2 * total_); ++sent) {
        const Part part = outgoing(sent);
        mesh_.send_on(data_ + part.first, part.count * sizeof(T));
      }
      if (k < total_) add(k, mean);
      else collect(k);
    }
    mesh_.flush(deadline_);
  }

 private:
  struct Part {
    std::size_t first = 0, count = 0;  // elements
  };

  // Segments of the largest share of a rank.
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
  // The start of part i of n; the first parts are longer by one.
  static std::size_t cut(std::size_t count, std::size_t i, std::size_t n) {
    return count / n * i + std::min(i, count % n);
  }
  // Segment k that arrives. The first half is added: all segments of the share after our own, and
  // so on around the ring; then one share is complete here. The second half is complete sums.
  Part incoming(std::size_t k) const {
    const int share = k < total_ ? rank_ - 1 : rank_;
    k %= total_;
    return part(share - static_cast<int>(k / segments_), k % segments_);
  }
  // Segment k to send: our own share, and then everything that arrived.
  Part outgoing(std::size_t k) const {
    return k < segments_ ? part(rank_, k) : incoming(k - segments_);
  }

  void add(std::size_t k, bool mean) {
    const Part part = incoming(k);
    mesh_.receive_behind(scratch_, part.count * sizeof(T), deadline_);
    accumulate(data_ + part.first, scratch_, part.count);
    if (mean && k >= total_ - segments_) divide(data_ + part.first, part.count, size_);
  }
  // Copies it to its place. No segment there can still be unsent, because its sum would not be
  // complete.
  void collect(std::size_t k) {
    const Part part = incoming(k);
    mesh_.receive_behind(data_ + part.first, part.count * sizeof(T), deadline_);
  }

  Mesh& mesh_;
  const int rank_, size_;
  T* const data_;
  const std::size_t count_;
  T* const scratch_;
  const Mesh::Clock::time_point deadline_;
  const std::size_t segments_;  // of each share
  const std::size_t total_;     // that arrive in each half
  const std::size_t ahead_;
};

}  // namespace trireme::distributed
