#include "distributed/checkpoint/manifest.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "distributed/checkpoint/part_json.h"

namespace trireme::distributed::checkpoint {
namespace {

constexpr const char* kManifestFormat = "trireme distributed checkpoint";
constexpr int kManifestVersion = 1;

std::string problem_of_tables(const Manifest& manifest) {
  std::map<std::string, Ranges> slots;
  std::map<std::string, const PartInfo*> infos;
  for (const Part& part : manifest.parts) {
    const PartInfo& info = part.info;
    if (info.kind == PartInfo::Kind::dense) continue;
    const PartInfo* const first = infos.emplace(info.table, &info).first->second;
    if (first->layout != info.layout || first->row_bytes != info.row_bytes) {
      return fmt::format("table '{}' is there as {} and as {}", info.table, first->layout,
                         info.layout);
    }
    slots[info.table].emplace_back(info.slots.first, info.slots.last);
  }
  for (const auto& [table, ranges] : slots) {
    const std::string problem = problem_of_ranges(ranges, kSlots);
    if (!problem.empty()) return fmt::format("of table '{}', slot {}", table, problem);
  }
  return "";
}

std::string problem_of_dense(const Manifest& manifest) {
  std::map<std::string, Ranges> rows;
  std::map<std::string, const DenseRange*> ranges;
  for (const Part& part : manifest.parts) {
    for (const DenseRange& range : part.info.dense) {
      const DenseRange* const first = ranges.emplace(range.name, &range).first->second;
      if (first->dtype != range.dtype || first->shape != range.shape) {
        return fmt::format("parameter '{}' is there in two shapes", range.name);
      }
      if (range.first != range.last) rows[range.name].emplace_back(range.first, range.last);
    }
  }
  for (const auto& [name, range] : ranges) {
    const std::string problem = problem_of_ranges(rows[name], range->all_rows());
    if (!problem.empty()) return fmt::format("of parameter '{}', row {}", name, problem);
  }
  return "";
}

std::string problem_of_part(const Manifest& manifest, const Part& part) {
  if (!is_file_name(part.file)) {
    return fmt::format("\"{}\" is no name of a part", part.file);
  }
  if (part.info.checkpoint != manifest.id) {
    return fmt::format("{} is of checkpoint {}", part.file, part.info.checkpoint);
  }
  if (part.info.kind == PartInfo::Kind::delta && !manifest.delta) {
    return fmt::format("{} holds changes only", part.file);
  }
  return problem_of(part.info);
}

Manifest manifest_from(const Json& json) {
  if (json.at("format") != kManifestFormat) throw std::domain_error("it is another kind of file");
  if (json.at("version") != kManifestVersion) {
    throw std::domain_error("another version of Trireme wrote it: format " +
                            json.at("version").dump());
  }
  Manifest manifest;
  manifest.id = count_at(json, "id");
  manifest.delta = json.at("delta").get<bool>();
  manifest.base = count_at(json, "base");
  manifest.previous = count_at(json, "previous");
  manifest.epoch = count_at(json, "epoch");
  manifest.step = count_at(json, "step");
  manifest.map_version = count_at(json, "map_version");
  manifest.snapshot = text_at(json, "cut");
  for (const Json& part : json.at("parts")) manifest.parts.push_back(part_from(part));
  if (const std::string problem = problem_of(manifest); !problem.empty()) {
    throw std::domain_error(problem);
  }
  return manifest;
}

}  // namespace

std::string problem_of_ranges(Ranges ranges, std::int64_t all) {
  std::sort(ranges.begin(), ranges.end());
  std::int64_t at = 0;
  for (const auto& [first, last] : ranges) {
    if (first < at) return fmt::format("{} is there twice", first);
    if (first > at) return fmt::format("{} is missing", at);
    at = last;
  }
  return at == all ? "" : fmt::format("{} is missing", at);
}

bool is_file_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= 200 && !name.starts_with('.') &&
         std::all_of(name.begin(), name.end(), plain);
}

std::string problem_of(const Manifest& manifest) {
  const bool known = manifest.delta ? manifest.base > 0 && manifest.base <= manifest.previous
                                    : manifest.base == manifest.id;
  if (manifest.id <= 0 || !known || manifest.previous < 0 || manifest.previous >= manifest.id) {
    return fmt::format("checkpoint {} cannot stand on {} and {}", manifest.id, manifest.base,
                       manifest.previous);
  }
  if (manifest.epoch < 0 || manifest.step < 0 || manifest.map_version < 0) {
    return "a count below 0";
  }
  std::set<std::string> files;
  for (const Part& part : manifest.parts) {
    if (std::string problem = problem_of_part(manifest, part); !problem.empty()) return problem;
    if (!files.insert(part.file).second) return part.file + " is there twice";
  }
  std::string problem = problem_of_tables(manifest);
  return problem.empty() ? problem_of_dense(manifest) : problem;
}

std::string manifest_text(const Manifest& manifest) {
  Json json = {{"format", kManifestFormat},
               {"version", kManifestVersion},
               {"id", manifest.id},
               {"delta", manifest.delta},
               {"base", manifest.base},
               {"previous", manifest.previous},
               {"epoch", manifest.epoch},
               {"step", manifest.step},
               {"map_version", manifest.map_version},
               {"cut", escaped(manifest.snapshot)},
               {"parts", Json::array()}};
  for (const Part& part : manifest.parts) json["parts"].push_back(part_json(part));
  return json.dump(1) + "\n";
}

Manifest parse_manifest(std::string_view text, const std::string& name) {
  return from_json(text, name, manifest_from);
}

}  // namespace trireme::distributed::checkpoint
