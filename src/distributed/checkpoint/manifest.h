#pragma once

// What a checkpoint consists of: a text beside its parts.
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
  // Of a delta, some parts hold what changed since `previous`, which is committed. It can be
  // restored with all checkpoints from `base`, which is full, on. A full one is its own base.
  bool delta = false;
  std::int64_t base = 0, previous = 0;  // previous: 0, if there was none
  // What the master says of the moment; opaque here.
  std::int64_t epoch = 0, step = 0, map_version = 0;
  std::string cut;  // any bytes, such as the state of the task queue
  std::vector<Part> parts;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

std::string manifest_text(const Manifest& manifest);
// Errors: Damaged, also where problem_of() finds something.
Manifest parse_manifest(std::string_view text, const std::string& name);

// What the places [first, last) lack to be [0, all) without gaps and overlaps, "" if nothing.
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;
std::string problem_of_ranges(Ranges ranges, std::int64_t all);
// Letters, digits, - _ and . alone, so that a file is in the folder where it should be.
bool is_file_name(std::string_view name);

// What keeps the parts from being a checkpoint, "" if nothing: each slot of each table and each row
// of each dense parameter must be in exactly one part; parts of a table must be of one layout.
std::string problem_of(const Manifest& manifest);

}  // namespace trireme::distributed::checkpoint
