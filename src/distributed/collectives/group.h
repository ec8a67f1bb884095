#pragma once

// Collective operations of a fixed group of processes. All members call the same operations with
// the same sizes in the same order; whatever goes wrong at one of them breaks the group for all,
// and a new one is formed: see elastic_group.h.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

// The group has lost a member, or an operation its deadline. The memory that the operation worked
// on may hold parts of sums.
class GroupBroken : public Error {
 public:
  GroupBroken(int rank, std::string operation, const std::string& why);
  int rank() const { return rank_; }  // that it happened at
  const std::string& operation() const { return operation_; }

 private:
  int rank_;
  std::string operation_;
};

enum class Reduction : std::uint8_t {
  sum,
  mean,  // the sum, divided by how many members there are; not of integers
};

struct GroupOptions {
  // Where the members' connections are made: the interface, by its name; if there is none, an
  // address of this machine. They are not encrypted, so other than loopback it should be a network
  // that is trusted.
  std::string interface = {};
  std::string address = "127.0.0.1";
  Milliseconds timeout{10000};       // of every operation, the slowest member's being late included
  Milliseconds form_timeout{10000};  // of forming the group
  // Called once by any thread when the group has broken; must not end it. One that a member left in
  // good order breaks with the first operation that this one has not done.
  std::function<void()> on_broken = {};
  // Called by the thread that forms the group for everybody who connects, or answers at a member's
  // address, without knowing what members know.
  std::function<void()> on_stranger = {};
  // Asked while the group forms: whether to give up.
  std::function<bool()> cancelled = {};
};

// One thread at a time calls operations; abort() and broken() are safe for all. All operations may
// throw GroupBroken, after which all others do. Errors: usage, before anything was sent, for
// arguments that fit no member.
class Group {
 public:
  // Waits for all `size` members, which find each other below `prefix` by their ranks. Errors: io,
  // if they are not there in time; Unavailable.
  Group(Store& store, const std::string& prefix, std::int64_t generation, int rank, int size,
        const GroupOptions& options);
  // Others that are still at their last operation can end it.
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::int64_t generation() const { return generation_; }
  bool broken() const;
  // Breaks the group for all members. Whoever is in an operation gets a GroupBroken.
  void abort(const std::string& why);

  // In place. All members get the same bits, and the same again from the same input.
  void all_reduce(std::span<float> values, Reduction how = Reduction::sum);
  void all_reduce(std::span<double> values, Reduction how = Reduction::sum);
  void all_reduce(std::span<std::int64_t> values);
  // What rank `root` has, to all.
  void broadcast(std::span<std::byte> data, int root);
  // The parts of all, by rank, each as long as `own`. Errors: usage, if `all` is not as long as all
  // of them.
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all);
  // Returns when all have called it.
  void barrier();

 private:
  struct State;
  template <class Work>
  void perform(const char* operation, std::size_t bytes, int detail, const Work& work);
  template <class T>
  void reduce(std::span<T> values, Reduction how, int type);

  const int rank_, size_;
  const std::int64_t generation_;
  const GroupOptions options_;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::distributed
