#pragma once

// Collective operations of a fixed group of processes. All members call the same operations with
// the same sizes in the same order. An error at one of them breaks the group for all, and a new
// group forms: see elastic_group.h.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

// The group lost a member, or an operation exceeded its deadline. The memory of the operation may
// hold partial sums.
class GroupBroken : public Error {
 public:
  GroupBroken(int rank, std::string operation, const std::string& why);
  int rank() const { return rank_; }  // where it happened
  const std::string& operation() const { return operation_; }

 private:
  int rank_;
  std::string operation_;
};

enum class Reduction : std::uint8_t {
  sum,
  mean,  // the sum divided by the number of members; not for integers
};

struct GroupOptions {
  // The network interface for connections between members; if empty, an address of this machine.
  // Connections are not encrypted, so use loopback or a trusted network.
  std::string interface = {};
  std::string address = "127.0.0.1";
  Milliseconds timeout{10000};  // of every operation, including the delay of the slowest member
  Milliseconds form_timeout{10000};  // of forming the group
  // Called once, by any thread, when the group breaks; must not destroy the group. A group that a
  // member left properly breaks at the first operation that this member did not take part in.
  std::function<void()> on_broken = {};
  // Called by the thread that forms the group for every connection without the secret of the group.
  std::function<void()> on_unauthenticated_peer = {};
  // Called while the group forms: whether to give up.
  std::function<bool()> cancelled = {};
};

// Operations are for one thread at a time; abort() and broken() are thread-safe. All operations may
// throw GroupBroken; after that, all others do. Errors: usage, before anything is sent, for invalid
// arguments.
class Group {
 public:
  // Waits for all `size` members, which find each other below `prefix` by their ranks. Errors: io
  // if they do not arrive in time; Unavailable.
  Group(Store& store, const std::string& prefix, std::int64_t generation, int rank, int size,
        const GroupOptions& options);
  // Other members can still finish their last operation.
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::int64_t generation() const { return generation_; }
  bool broken() const;
  // Breaks the group for all members. Operations in progress throw GroupBroken.
  void abort(const std::string& why);

  // In place. All members get the same bits; the same input gives the same bits again.
  void all_reduce(std::span<float> values, Reduction how = Reduction::sum);
  void all_reduce(std::span<double> values, Reduction how = Reduction::sum);
  void all_reduce(std::span<std::int64_t> values);
  // Copies the data of rank `root` to all members.
  void broadcast(std::span<std::byte> data, int root);
  // Concatenates the parts of all members by rank; each is as long as `own`. Errors: usage if `all`
  // has another length.
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
