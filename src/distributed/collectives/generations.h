#pragma once

// Which members form the next group, agreed in the Store without a leader. A member that wants a
// new generation writes a key below the next number. The others answer with their own keys. Then
// any member may write the generation, with those that answered as its members, unless another one
// was faster.
//
// - PREFIX generation: "7 3:anna 7:berta": the number, and the members by rank, each with the
//   generation since which it has been in all generations. Never removed.
// - PREFIX next/8/anna: anna is ready for generation 8; on her lease.
// - PREFIX process/ring/anna: anna is alive; on her lease (process_registry.h). The address is that
//   of her life sign.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "distributed/coordination/process_registry.h"

namespace trireme::distributed {

struct Seat {
  std::string name;
  std::int64_t since = 0;  // the first generation of its unbroken membership
};
struct Generation {
  std::int64_t number = 0;    // 0: none yet
  std::vector<Seat> members;  // by rank
  // Returns the rank of a member, or -1.
  int rank_of(const std::string& name) const;
};
std::string text_of(const Generation& generation);
// Errors: data if the text is no generation; the message contains the key.
Generation generation_of(const std::string& key, const std::string& text);

struct GenerationOptions {
  std::string prefix;  // of all its keys
  std::string name;    // of this member: no '/', no space
  std::size_t min_members = 1;
  std::string address = "-";  // of its life sign
  // How long to wait for members that are alive by lease and life sign but do not answer.
  Milliseconds settle{500};
  std::function<void()> on_change =
      {};  // called by the thread that follows the store; must not destroy this object
  // Whether a separate thread follows the store. Otherwise one thread calls poll(), which can do so
  // for many members.
  bool own_thread = true;
};

// The view and the actions of one member. Thread-safe. Functions that use the store may throw
// Unavailable.
class Generations {
 public:
  using Clock = std::chrono::steady_clock;
  Generations(Store& store, const GenerationOptions& options);
  ~Generations();

  // Joins until the lease ends. Errors: usage if another member, or an earlier lease of this one,
  // still holds the name.
  void join(const LeaseKeeper& lease);
  Generation current() const;  // errors: those that ended the thread
  bool called() const;         // whether any member wants the next generation
  // Declares that this member is ready for the next generation; no effect if it already did.
  void answer(const LeaseKeeper& lease);
  // Writes the next generation if all living members have answered, or were waited for. Returns
  // when to call it again if time, not only a change, may complete it. Members of the current
  // generation may continue without new members. New members may not replace them while any of them
  // is alive, because that would drop their progress.
  std::optional<Milliseconds> propose();
  // Without a separate thread: takes the changes of the store so far. Does not throw; what the
  // store does not answer is read at the next call.
  void poll();

 private:
  void run();
  bool follow(Milliseconds timeout);
  void read();
  void take(Milliseconds timeout);
  void apply(const Event& event);
  Condition still_current() const;
  std::string next_prefix(std::int64_t number) const;
  bool all_gone(const std::map<std::string, std::string>& missing);
  std::vector<Seat> seats(const std::map<std::string, std::int64_t>& present) const;

  Store& store_;
  const GenerationOptions options_;
  const std::string generation_key_, next_prefix_, member_prefix_;
  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  Generation current_;
  std::int64_t revision_ = 0;                              // that wrote the generation
  std::map<std::int64_t, std::set<std::string>> present_;  // by number: the ready members
  std::map<std::string, std::string> alive_;   // entries of processes by name, with leases
  std::map<std::string, std::string> unsure_;  // of current members whose leases expired
  std::map<std::string, bool> gone_;           // of those asked for the next generation
  std::int64_t answered_ = 0;                  // number
  Clock::time_point answered_at_;
  std::exception_ptr failure_;    // of the thread that follows the store, which does so no more
  std::unique_ptr<Watch> watch_;  // of that thread
  std::thread thread_;
};

}  // namespace trireme::distributed
