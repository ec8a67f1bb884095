#pragma once

// The only way in which processes of a job agree: keys with values, where each change is a new
// revision; transactions of conditions and changes; leases that remove their keys when their owner
// stops renewing; and watches. Two implementations, MemoryStore and EtcdStore, pass one test suite.
// The terms are those of etcd (version 3).

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "trireme/error.h"

namespace trireme::distributed {

using Milliseconds = std::chrono::milliseconds;

// The other side did not answer in time or is unreachable. The request may have been executed or
// not, and may be sent again.
class Unavailable : public Error {
 public:
  explicit Unavailable(const std::string& message) : Error(ErrorKind::io, message) {}
};

struct Entry {
  std::string key, value;
  std::int64_t created =
      0;  // the revision that created the key, which differs for a later key of this name
  std::int64_t modified = 0;  // the revision that wrote it last
  std::int64_t version = 0;   // number of writes since its creation
  std::int64_t lease = 0;     // 0: none
};

// A condition on a key. A missing key has created, modified and version 0, and no value.
struct Condition {
  enum class Of : std::uint8_t { value, created, modified, version };
  enum class Is : std::uint8_t { equal, not_equal, less, greater };
  std::string key;
  Of of = Of::created;
  Is is = Is::equal;
  std::string value = {};   // to compare with: for values,
  std::int64_t number = 0;  // for all others
};
Condition absent(const std::string& key);
Condition present(const std::string& key);
Condition unchanged(const Entry& entry);  // the key is still as it was read
Condition unmodified(const std::string& key, std::int64_t revision);  // likewise; 0: it is missing
Condition is_value(const std::string& key, const std::string& value);

// With `prefix`, all keys that begin with `key`.
struct Put {
  std::string key, value;
  std::int64_t lease = 0;
};
struct Erase {
  std::string key;
  bool prefix = false;
};
struct Get {
  std::string key;
  bool prefix = false;
  std::string after = {};  // of a prefix: only keys after this one
  std::int64_t limit = 0;  // of a prefix: at most this many, by key; 0: all
};
using Action = std::variant<Put, Erase, Get>;

inline constexpr std::size_t kMaxActions = 128;            // of one branch
inline constexpr std::size_t kLargestValue = 1024 * 1024;  // bytes of a key plus its value

// If all conditions hold, executes `then` as one revision, otherwise `otherwise`. A key is written
// at most once.
struct Transaction {
  std::vector<Condition> when = {};
  std::vector<Action> then = {};
  std::vector<Action> otherwise = {};
};
struct Outcome {
  bool succeeded = false;
  std::int64_t revision = 0;                 // of the store after the transaction
  std::vector<std::vector<Entry>> got = {};  // of each Get of the executed branch, sorted by key
};

struct Event {
  bool erased = false;
  Entry entry;  // for an erased one: the key and the revision that erased it
};
// Changes in the order of their revisions; those of one revision are together.
struct Events {
  std::vector<Event> events;
  // The store has lost changes that this watch needs: read everything again, and watch from there.
  bool compacted = false;
};

class Watch {
 public:
  virtual ~Watch() = default;
  // Waits for events, or until the time is over: then there are none.
  virtual Events wait(Milliseconds timeout) = 0;
};

// Thread-safe. Every call ends within the time limit of the store; all may throw Unavailable.
// Errors: usage for an empty key, too many actions, a value that is too large, a key that is
// written twice.
class Store {
 public:
  virtual ~Store() = default;

  virtual Outcome commit(const Transaction& transaction) = 0;
  // Grants a lease of `seconds`, 1 to 1,000,000; the store may grant more.
  virtual std::int64_t grant(std::int64_t seconds) = 0;
  // Restarts the time of the lease. Returns false if it has ended.
  virtual bool keep_alive(std::int64_t lease) = 0;
  // Ends a lease and erases its keys. Does nothing if it has ended.
  virtual void revoke(std::int64_t lease) = 0;
  // Watches all changes of keys with that prefix from revision `from` on, also across
  // interruptions.
  virtual std::unique_ptr<Watch> watch(const std::string& prefix, std::int64_t from) = 0;

  // --- Built from commit()
  std::optional<Entry> get(const std::string& key);
  struct Listing {
    std::vector<Entry> entries;
    std::int64_t revision = 0;  // watch from the next one to miss nothing
  };
  // Returns all entries with the prefix, read in pages. A change during the call may be included or
  // not; a watch from `revision` + 1 sees it.
  Listing list(const std::string& prefix);
  std::int64_t put(const std::string& key, const std::string& value, std::int64_t lease = 0);
  // Returns whether the key existed.
  bool erase(const std::string& key);
};

// Errors: usage for requests that no store accepts.
void check(const Transaction& transaction);
void check_lease(std::int64_t seconds);
// Returns the first key after all keys that begin with `prefix`; a single zero byte, which means
// "no end", if there is none.
std::string end_of_prefix(std::string prefix);

}  // namespace trireme::distributed
