#pragma once

// Which checkpoints there are. The Store says so: a checkpoint is there once one transaction has
// put it there; files that no transaction has named are remains of one that was not finished, and
// go.
//
// Keys, behind a prefix: "next", the id last given; "latest", the id committed last; "at/" and the
// id in 12 digits, what is known of a checkpoint that can be restored.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "distributed/checkpoint/manifest.h"
#include "distributed/coordination/store.h"

namespace trireme::distributed::checkpoint {

struct CatalogOptions {
  std::string folder;                   // of all checkpoints, on a file system that all servers see
  std::string prefix;                   // of its keys, "job/checkpoint/"
  std::optional<Condition> guard = {};  // of every change: Election::guard
  int keep = 2;  // full checkpoints that stay, each with its deltas; at least 1
};

// A checkpoint that is being made.
struct Begun {
  std::int64_t id = 0;
  bool delta = false;
  std::int64_t base = 0, previous = 0;
  std::string folder;  // where its parts go
};

// One that can be restored.
struct Committed {
  std::int64_t id = 0;
  bool delta = false;
  std::int64_t base = 0, previous = 0;
  FileSum manifest;
};
std::string committed_text(const Committed& committed);  // the value of its key
// Errors: Damaged.
Committed parse_committed(std::int64_t id, std::string_view text);

// Not safe for several threads at once. One process begins and commits, the master; any may read.
// Errors of all calls: Unavailable, and then a change has happened or not, or something else has
// changed meanwhile: it may be asked again; Deposed, if the guard does not hold: another one leads;
// io.
class Catalog {
 public:
  // Errors: usage.
  Catalog(Store& store, CatalogOptions options);

  // A new id, larger than all before, and its folder. A delta stands on the checkpoint committed
  // last; without one it is full. What was begun before and not committed is removed.
  Begun begin(bool delta);
  // Writes the manifest and commits, if nothing was committed since begin(). Asked again, it does
  // no harm. Then what is older than `keep` says is removed; what cannot be removed is tried again
  // next time. Errors: usage, for parts that are no checkpoint; Damaged, for a part that is not
  // there in its length.
  void commit(const Manifest& manifest);
  // Forgets all checkpoints after this one, such as damaged ones; 0 forgets all. Ids are not given
  // again.
  void rewind(std::int64_t id);

  std::vector<Committed> list();  // newest first
  std::string folder(std::int64_t id) const;
  // Errors: Damaged.
  Manifest manifest(const Committed& committed) const;

 private:
  struct Keys {
    std::optional<Entry> next, latest;
    std::vector<Committed> all;  // newest first, without those whose value is damaged
    std::set<std::int64_t> ids;  // with those
  };
  std::string key(const std::string& name) const { return options_.prefix + name; }
  std::string key(std::int64_t id) const;
  std::string marker(std::int64_t id) const { return folder(id) + "/committed"; }
  Keys read();
  Keys read_or_adopt();
  Outcome commit_guarded(Transaction transaction);
  void adopt();
  void check_parts(const Manifest& manifest) const;
  bool put(const Manifest& manifest, const std::string& value);
  void mark(const std::vector<Committed>& all) const;
  void retire();
  void collect(std::int64_t before, const Keys& keys) const;

  Store& store_;
  const CatalogOptions options_;
};

}  // namespace trireme::distributed::checkpoint
