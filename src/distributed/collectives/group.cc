#include "distributed/collectives/group.h"

#include <fmt/core.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "distributed/collectives/mesh.h"
#include "distributed/collectives/ring.h"

namespace trireme::distributed {

GroupBroken::GroupBroken(int rank, std::string operation, const std::string& why)
    : Error(ErrorKind::io, fmt::format("{} of rank {} failed: {}", operation, rank, why)),
      rank_(rank),
      operation_(std::move(operation)) {}

struct Group::State {
  std::optional<Mesh> mesh;  // none in a group of one
  std::vector<std::byte> scratch = {};
  std::atomic<bool> aborted = false;  // of a group of one
};

Group::Group(Store& store, const std::string& prefix, std::int64_t generation, int rank, int size,
             const GroupOptions& options)
    : rank_(rank),
      size_(size),
      generation_(generation),
      options_(options),
      state_(std::make_unique<State>()) {
  if (size < 1 || rank < 0 || rank >= size) {
    fail_usage(fmt::format("there is no rank {} in a group of {}", rank, size));
  }
  if (size == 1) return;
  Rendezvous rendezvous(store, fmt::format("{}{}/", prefix, generation),
                        Mesh::Clock::now() + options.form_timeout, options.cancelled);
  state_->mesh.emplace(rendezvous, rank, size,
                       MeshOptions{options.interface, options.address, options.on_broken,
                                   options.on_unauthenticated_peer});
}

Group::~Group() = default;

bool Group::broken() const {
  return state_->mesh ? !state_->mesh->failure().empty() : state_->aborted.load();
}

void Group::abort(const std::string& why) {
  if (state_->mesh) return state_->mesh->fail(why);
  if (!state_->aborted.exchange(true) && options_.on_broken) options_.on_broken();
}

// Calls work(slot, deadline) with four slots for this operation alone. A member that calls another
// operation, or one of another size, uses other slots: no message arrives there, and the deadline
// ends the operation.
template <class Work>
void Group::perform(const char* operation, std::size_t bytes, int detail, const Work& work) {
  if (!state_->mesh) {
    if (broken()) throw GroupBroken(rank_, operation, "the group was given up");
    return;
  }
  Mesh& mesh = *state_->mesh;
  try {
    const std::uint64_t kind = hash64(fmt::format("{} {} {}", operation, bytes, detail));
    const std::uint64_t slot = (kind << 34U) | ((mesh.begin_operation() & 0xFFFFFFFFU) << 2U);
    return work(slot, Mesh::Clock::now() + options_.timeout);
  } catch (const std::exception& error) {
    mesh.fail(error.what());  // no use if it is broken: the first reason counts
  }
  throw GroupBroken(rank_, operation, mesh.failure());
}

template <class T>
void Group::reduce(std::span<T> values, Reduction how, int type) {
  std::vector<std::byte>& scratch = state_->scratch;
  if (size_ > 1) scratch.resize(kSegment);
  perform("all-reduce", values.size_bytes(), type * 2 + static_cast<int>(how),
          [&](std::uint64_t slot, Mesh::Clock::time_point deadline) {
            state_->mesh->begin_ring(slot, deadline);
            Ring<T>(*state_->mesh, values.data(), values.size(), scratch.data(), deadline)
                .run(how == Reduction::mean);
          });
}

void Group::all_reduce(std::span<float> values, Reduction how) { reduce(values, how, 0); }
void Group::all_reduce(std::span<double> values, Reduction how) { reduce(values, how, 1); }
void Group::all_reduce(std::span<std::int64_t> values) { reduce(values, Reduction::sum, 2); }

// A binomial tree: in each round, each member with the data sends it to one without.
void Group::broadcast(std::span<std::byte> data, int root) {
  if (root < 0 || root >= size_) {
    fail_usage(fmt::format("there is no rank {} in a group of {}", root, size_));
  }
  perform("broadcast", data.size(), root,
          [&](std::uint64_t slot, Mesh::Clock::time_point deadline) {
            Mesh::Buffer buffer(*state_->mesh, data.data(), data.size());
            const int own = (rank_ - root + size_) % size_;
            int sent = 0;
            for (int have = 1; have < size_; have *= 2) {
              if (own < have && own + have < size_) {
                buffer.send((own + have + root) % size_, slot, 0, data.size());
                ++sent;
              } else if (own >= have && own < 2 * have) {
                buffer.receive((own - have + root) % size_, slot, 0, data.size());
                buffer.wait_received(deadline);
              }
            }
            for (; sent > 0; --sent) buffer.wait_sent(deadline);
          });
}

void Group::all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
  if (all.size() != own.size() * static_cast<std::size_t>(size_)) {
    fail_usage(fmt::format("{} members of {} bytes each do not give {} bytes", size_, own.size(),
                           all.size()));
  }
  const auto place = [&](int rank) { return static_cast<std::size_t>(rank) * own.size(); };
  if (!own.empty()) std::memmove(all.data() + place(rank_), own.data(), own.size());
  perform("all-gather", own.size(), 0, [&](std::uint64_t slot, Mesh::Clock::time_point deadline) {
    Mesh::Buffer buffer(*state_->mesh, all.data(), all.size());
    for (int distance = 1; distance < size_; ++distance) {
      const int from = (rank_ + size_ - distance) % size_, to = (rank_ + distance) % size_;
      buffer.receive(from, slot, place(from), own.size());
      buffer.send(to, slot, place(rank_), own.size());
    }
    for (int i = 0; i + 1 < size_; ++i) buffer.wait_received(deadline);
    for (int i = 0; i + 1 < size_; ++i) buffer.wait_sent(deadline);
  });
}

// By dissemination (Hensgen, Finkel and Manber 1988): after round i each member has heard, directly
// or indirectly, from the 2^(i+1) - 1 members before it.
void Group::barrier() {
  perform("barrier", 0, 0, [&](std::uint64_t slot, Mesh::Clock::time_point deadline) {
    char byte = 0;
    Mesh::Buffer out(*state_->mesh, &byte, 1);
    char heard = 0;
    Mesh::Buffer in(*state_->mesh, &heard, 1);
    for (int distance = 1; distance < size_; distance *= 2) {
      in.receive((rank_ + size_ - distance) % size_, slot, 0, 1);
      out.send((rank_ + distance) % size_, slot, 0, 1);
      in.wait_received(deadline);
      out.wait_sent(deadline);
    }
  });
}

}  // namespace trireme::distributed
