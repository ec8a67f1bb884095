#pragma once

// The one thing that processes of a job agree by: keys with values, each change a new revision;
// conditions and changes in one transaction; leases that remove their keys when their owner falls
// silent; and watches. Two implementations, MemoryStore and EtcdStore, pass one test suite. The
// vocabulary is etcd's (version 3).

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

// The other side did not answer in time, or cannot be reached. What was asked may have happened or
// not, and may be asked again.
class Unavailable : public Error {
 public:
  explicit Unavailable(const std::string& message) : Error(ErrorKind::io, message) {}
};

struct Entry {
  std::string key, value;
  std::int64_t created =
      0;  // the revision that made the key, which tells this one from a later key of its name
  std::int64_t modified = 0;  // the revision that wrote it last
  std::int64_t version = 0;   // how often it was written since it was made
  std::int64_t lease = 0;     // 0: none
};

// What must hold of a key. A key that is not there has created, modified and version 0, and no
// value.
struct Condition {
  enum class Of : std::uint8_t { value, created, modified, version };
  enum class Is : std::uint8_t { equal, not_equal, less, greater };
  std::string key;
  Of of = Of::created;
  Is is = Is::equal;
  std::string value = {};   // to compare with: of values,
  std::int64_t number = 0;  // of all others
};
Condition absent(const std::string& key);
Condition present(const std::string& key);
Condition unchanged(const Entry& entry);  // still as it was read
Condition is_value(const std::string& key, const std::string& value);

// A `prefix` stands for all keys that begin with `key`.
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
  std::string after = {};  // of a prefix: only keys behind this one
  std::int64_t limit = 0;  // of a prefix: so many at most, by key; 0: all
};
using Action = std::variant<Put, Erase, Get>;

inline constexpr std::size_t kMostActions = 128;           // of one branch
inline constexpr std::size_t kLargestValue = 1024 * 1024;  // bytes of a key and its value together

// If all conditions hold, `then` is done as one change of one revision, else `otherwise`. A key is
// written at most once.
struct Transaction {
  std::vector<Condition> when = {};
  std::vector<Action> then = {};
  std::vector<Action> otherwise = {};
};
struct Outcome {
  bool succeeded = false;
  std::int64_t revision = 0;  // of the store, after it
  std::vector<std::vector<Entry>> got =
      {};  // of each Get of the branch that was taken, sorted by key
};

struct Event {
  bool erased = false;
  Entry entry;  // of an erased one, the key and the revision that erased it
};
// Changes in the order of their revisions, those of one revision together.
struct Events {
  std::vector<Event> events;
  // Changes were forgotten that should have been seen: read everything again, and watch from there.
  bool compacted = false;
};

class Watch {
 public:
  virtual ~Watch() = default;
  // Waits until there is something, or the time is over: then there are no events.
  virtual Events wait(Milliseconds most) = 0;
};

// Safe for several threads at once. Every call ends within the store's own time limit; all may
// throw Unavailable. Errors: usage, for what no store takes: an empty key, too many actions, a
// value that is too large, a key that is written twice.
class Store {
 public:
  virtual ~Store() = default;

  virtual Outcome commit(const Transaction& transaction) = 0;
  // A lease of so many seconds, 1 to 1,000,000; more may be given.
  virtual std::int64_t grant(std::int64_t seconds) = 0;
  // Begins the lease's time anew. False: it has ended.
  virtual bool keep_alive(std::int64_t lease) = 0;
  // Ends a lease, and its keys with it; nothing happens if it has ended.
  virtual void revoke(std::int64_t lease) = 0;
  // All changes of keys with that prefix from revision `from` on, through interruptions too.
  virtual std::unique_ptr<Watch> watch(const std::string& prefix, std::int64_t from) = 0;

  // --- Made of commit()
  std::optional<Entry> get(const std::string& key);
  struct Listing {
    std::vector<Entry> entries;
    std::int64_t revision = 0;  // watch from the next one to miss nothing
  };
  // All entries with the prefix, in pages: what changes meanwhile may be in it or not, and is seen
  // by a watch from `revision` + 1.
  Listing list(const std::string& prefix);
  std::int64_t put(const std::string& key, const std::string& value, std::int64_t lease = 0);
  // Whether it was there.
  bool erase(const std::string& key);
};

// Errors: usage, for what no store takes.
void check(const Transaction& transaction);
void check_lease(std::int64_t seconds);
// The first key behind all that begin with `prefix`; a zero byte alone, which is "no end", if there
// is none.
std::string end_of_prefix(std::string prefix);

}  // namespace trireme::distributed
