#pragma once

// The list of the parts of a checkpoint: a text file next to the parts.
// docs/reference/formats/distributed-checkpoint.md has the format.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "distributed/checkpoint/part.h"

namespace trireme::distributed::checkpoint {

inline constexpr const char* kManifestFile = "manifest.json";

struct Manifest {
  std::int64_t id = 0;
  // In a delta, some parts contain only changes since `previous`, which is committed. Restoring it
  // needs all checkpoints from `base` on, which is full. A full checkpoint is its own base.
  bool delta = false;
  std::int64_t base = 0, previous = 0;  // previous: 0 if there is none
  // The state of the master at that moment; opaque here.
  std::int64_t epoch = 0, step = 0, map_version = 0;
  std::string snapshot;  // any bytes, such as the state of the task queue
  std::vector<Part> parts;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

std::string manifest_text(const Manifest& manifest);
// Errors: Damaged, also if problem_of() finds a problem.
Manifest parse_manifest(std::string_view text, const std::string& name);

// Returns what ranges [first, last) lack to cover [0, all) without gaps and overlaps; "" if
// nothing.
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;
std::string problem_of_ranges(Ranges ranges, std::int64_t all);
// Only letters, digits, - _ and ., so that a file is inside of its folder.
bool is_file_name(std::string_view name);

// Returns why the parts are no valid checkpoint; "" if they are. Each slot of each table and each
// row of each dense parameter must be in exactly one part; parts of a table must have one layout.
std::string problem_of(const Manifest& manifest);

}  // namespace trireme::distributed::checkpoint
