#pragma once

// Who forms the next group, agreed in the Store without a leader. Whoever wants a new generation
// says so by a key below the next one's number; the others answer by a key of their own; and anyone
// may then write the generation, with those who have answered as its members, if nobody was
// quicker.
//
//   PREFIX generation          "7 3:anna 7:berta": its number, and its members by rank, each with the generation since
//                              which it has been in all of them; stays for ever
//   PREFIX next/8/anna         anna is there for generation 8; on her lease
//   PREFIX member/ring/anna    anna is alive; on her lease (membership.h); the value is the address of her life sign

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "distributed/coordination/membership.h"

namespace trireme::distributed {

struct Seat {
  std::string name;
  std::int64_t since = 0;  // the first of all generations without a gap that it was in
};
struct Generation {
  std::int64_t number = 0;    // 0: there was none yet
  std::vector<Seat> members;  // by rank
  // The rank of a member; -1 of none.
  int rank_of(const std::string& name) const;
};
std::string text_of(const Generation& generation);
// Errors: data, for what is no generation; the text tells the key.
Generation generation_of(const std::string& key, const std::string& text);

struct GenerationOptions {
  std::string prefix;  // of all its keys
  std::string name;    // of this member: no '/', no space
  std::size_t least = 1;
  std::string address = "-";  // of its life sign
  // How long those who are alive by their leases and life signs, but do not answer, are waited for.
  Milliseconds settle{500};
  std::function<void()> on_change = {};  // called by a thread of its own; must not end it
};

// What one member sees and does. A thread of its own follows the store; all functions are safe for
// several threads, and those that ask the store may throw Unavailable.
class Generations {
 public:
  using Clock = std::chrono::steady_clock;
  Generations(Store& store, const GenerationOptions& options);
  ~Generations();

  // Until the lease ends. Errors: usage, if another member has the name, or a former lease of ours
  // still does.
  void join(const LeaseKeeper& lease);
  Generation current() const;  // errors: those that ended the thread
  bool called() const;         // somebody wants the next one
  // Says that this member is there for the next one; nothing if it has said so.
  void answer(const LeaseKeeper& lease);
  // Writes the next generation if all have answered who are alive, or have been waited for. When to
  // ask again, if there is something to wait for beside changes. Members of the current generation
  // may do it without new ones, but not the other way round while any of them is alive: else a
  // newcomer could drop what they have reached.
  std::optional<Milliseconds> propose();

 private:
  void run();
  void follow();
  void apply(const Event& event);
  Condition still_current() const;
  std::string next_prefix(std::int64_t number) const;
  bool all_gone(const std::map<std::string, Member>& missing);
  std::vector<Seat> seats(const std::map<std::string, std::int64_t>& present) const;

  Store& store_;
  const GenerationOptions options_;
  const std::string generation_key_, next_prefix_, member_prefix_;
  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  Generation current_;
  std::int64_t revision_ = 0;                              // that wrote it
  std::map<std::int64_t, std::set<std::string>> present_;  // by number: who is there
  std::map<std::string, Member> alive_;                    // by name, by their leases
  std::map<std::string, Member> unsure_;  // of the current ones, whose leases have ended
  std::map<std::string, bool> gone_;      // of those asked for the next generation
  std::int64_t answered_ = 0;             // number
  Clock::time_point answered_at_;
  std::exception_ptr failure_;  // of the thread, which has ended
  std::thread thread_;
};

}  // namespace trireme::distributed
