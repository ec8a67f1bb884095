// The list of the exports in a folder.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <stdexcept>

#include "base/checksum.h"
#include "base/error.h"
#include "distributed/checkpoint/export.h"
#include "distributed/checkpoint/manifest.h"
#include "distributed/checkpoint/part_json.h"

namespace trireme::distributed::checkpoint {
namespace {

constexpr const char* kIndexFile = "export.json";
constexpr const char* kExportFormat = "trireme export";
constexpr int kExportVersion = 1;
constexpr const char* kInitializers[] = {"zeros", "uniform", "normal"};

Json export_json(const Export& one) {
  Json json = {{"number", one.number},
               {"delta", one.delta},
               {"note", escaped(one.note)},
               {"parts", Json::array()}};
  for (const ExportPart& part : one.parts) json["parts"].push_back(export_part_json(part));
  return json;
}

Export export_from(const Json& json) {
  Export one;
  one.number = count_at(json, "number");
  one.delta = json.at("delta").get<bool>();
  one.note = text_at(json, "note");
  for (const Json& part : json.at("parts")) one.parts.push_back(export_part_from(part));
  return one;
}

RowInitializer initializer_from(const Json& json) {
  RowInitializer initializer;
  const std::string kind = json.at("kind").get<std::string>();
  const auto found = std::find(std::begin(kInitializers), std::end(kInitializers), kind);
  if (found == std::end(kInitializers)) throw std::domain_error("an initializer that is none");
  initializer.kind = static_cast<RowInitializer::Kind>(found - std::begin(kInitializers));
  initializer.low = json.at("low").get<double>();
  initializer.high = json.at("high").get<double>();
  return initializer;
}

// What keeps exports from being a base and its deltas, "" if nothing.
std::string problem_of(const ExportIndex& index) {
  std::int64_t last = 0;
  for (const Export& one : index.exports) {
    const bool first = &one == index.exports.data();
    if (one.number < 1 || one.delta == first || (!first && one.number != last + 1)) {
      return fmt::format("export {} is out of place", one.number);
    }
    last = one.number;
    Ranges slots;
    for (const ExportPart& part : one.parts) {
      if (!one.delta && !part.whole) return part.file + " is not whole";
      if (part.slots.first >= part.slots.last) return part.file + " has no slots";
      slots.emplace_back(part.slots.first, part.slots.last);
    }
    const std::string problem = problem_of_ranges(std::move(slots), kSlots);
    if (!problem.empty()) return fmt::format("of export {}, slot {}", one.number, problem);
  }
  return "";
}

ExportIndex index_from(const Json& json) {
  if (json.at("format") != kExportFormat || json.at("version") != kExportVersion) {
    throw std::domain_error("it is another kind of file, or of a newer Trireme");
  }
  ExportIndex index;
  index.table = text_at(json, "table");
  index.width = static_cast<int>(whole_at(json, "width", 65536));
  const std::string dtype = json.at("dtype").get<std::string>();
  if (dtype != "f16" && dtype != "f32") throw std::domain_error("a dtype that is none");
  index.float16 = dtype == "f16";
  index.initializer = initializer_from(json.at("initializer"));
  index.seed = whole_at(json, "seed", UINT64_MAX);
  check_options(options_of(index));
  for (const Json& one : json.at("exports")) index.exports.push_back(export_from(one));
  if (const std::string problem = problem_of(index); !problem.empty()) {
    throw std::domain_error(problem);
  }
  return index;
}

// Calls take(number, path) for every file of an export in the folder, also of unfinished ones.
template <class Take>
void for_files(const std::string& folder, const Take& take) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), last; !error && entry != last;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::int64_t number = 0;
    const char* const end = std::from_chars(name.data(), name.data() + name.size(), number).ptr;
    if (number > 0 && *end == '.' && name.find(".safetensors") != std::string::npos) {
      take(number, entry->path());
    }
  }
}

// Files of exports before this number; a reader may still be at those that were just replaced.
void remove_before(const std::string& folder, std::int64_t number) {
  for_files(folder, [&](std::int64_t of, const std::filesystem::path& path) {
    std::error_code ignored;
    if (of < number) std::filesystem::remove(path, ignored);
  });
}

// The content of the folder of a table.
struct Present {
  ExportIndex index;  // empty, if there is none or it is damaged
  bool damaged = false;
  std::int64_t last() const { return index.exports.empty() ? 0 : index.exports.back().number; }
};

// Errors: usage, io.
Present check_present(const std::string& folder, const std::string& table) try {
  Present found{read_index(folder)};
  if (found.index.table != table) {
    fail_usage(fmt::format("{} has exports of another table, '{}'", folder, found.index.table));
  }
  return found;
} catch (const Damaged&) {
  return {.index = {}, .damaged = true};
} catch (const Error& error) {
  if (error.kind() != ErrorKind::not_found) throw;
  return {};
}

}  // namespace

Json export_part_json(const ExportPart& part) {
  return {{"file", part.file},
          {"slots", {part.slots.first, part.slots.last}},
          {"whole", part.whole},
          {"rows", part.rows},
          {"removed", part.removed},
          {"bytes", part.sum.bytes},
          {"crc32c", fmt::format("{:08x}", part.sum.crc)}};
}

ExportPart export_part_from(const Json& json) {
  ExportPart part;
  part.file = json.at("file").get<std::string>();
  if (!is_file_name(part.file)) throw std::domain_error("a part without a name");
  const Json& slots = json.at("slots");
  if (slots.size() != 2 || !slots.at(0).is_number_unsigned() || !slots.at(1).is_number_unsigned() ||
      slots.at(0) > kSlots || slots.at(1) > kSlots) {
    throw std::domain_error("slots that are none");
  }
  part.slots = {slots[0].get<int>(), slots[1].get<int>()};
  part.whole = json.at("whole").get<bool>();
  part.rows = whole_at(json, "rows", INT64_MAX);
  part.removed = whole_at(json, "removed", INT64_MAX);
  part.sum.bytes = whole_at(json, "bytes", INT64_MAX);
  part.sum.crc = static_cast<std::uint32_t>(hexadecimal_at(json, "crc32c", UINT32_MAX));
  return part;
}

void decode_value(const Json& json, ExportPart& part) { part = export_part_from(json); }

bool same_rows(const ExportIndex& index, const TableOptions& options) {
  const RowInitializer &a = index.initializer, &b = options.initializer;
  return index.width == options.width && index.float16 == options.float16 && a.kind == b.kind &&
         a.low == b.low && a.high == b.high && index.seed == options.seed;
}

TableOptions options_of(const ExportIndex& index) {
  TableOptions options;
  options.name = index.table;
  options.width = index.width;
  options.float16 = index.float16;
  options.initializer = index.initializer;
  options.seed = index.seed;
  return options;
}

std::string index_text(const ExportIndex& index) {
  const RowInitializer& initializer = index.initializer;
  Json json = {{"format", kExportFormat},
               {"version", kExportVersion},
               {"table", escaped(index.table)},
               {"width", index.width},
               {"dtype", index.float16 ? "f16" : "f32"},
               {"initializer",
                {{"kind", kInitializers[static_cast<int>(initializer.kind)]},
                 {"low", initializer.low},
                 {"high", initializer.high}}},
               {"seed", index.seed},
               {"exports", Json::array()}};
  for (const Export& one : index.exports) json["exports"].push_back(export_json(one));
  return json.dump(1) + "\n";
}

ExportIndex parse_index(std::string_view text, const std::string& name) {
  return from_json(text, name, index_from);
}

ExportIndex read_index(const std::string& folder) {
  const std::string path = folder + "/" + kIndexFile;
  return parse_index(read_file(path), path);
}

NextExport next_export(const std::string& folder, const TableOptions& options,
                       std::int64_t deltas) {
  const Present there = check_present(folder, options.name);
  std::int64_t last = there.last();
  if (there.damaged) {  // readers may have whatever its files are
    for_files(folder, [&](std::int64_t number, const auto&) { last = std::max(last, number); });
  }
  const auto count = static_cast<std::int64_t>(there.index.exports.size());
  return {last + 1, count > 0 && count <= deltas && same_rows(there.index, options)};
}

void publish(const std::string& folder, const TableOptions& options, const Export& what) {
  ExportIndex index{options.name,        options.width, options.float16,
                    options.initializer, options.seed,  {}};
  const Present there = check_present(folder, options.name);
  const ExportIndex& before = there.index;
  if (what.number != there.last() + 1 && !there.damaged) {
    fail_usage(
        fmt::format("export {} of table '{}' follows {}", what.number, options.name, there.last()));
  }
  if (what.delta && !before.exports.empty() && !same_rows(before, options)) {
    fail_usage(
        fmt::format("{} has exports of a table '{}' whose rows are others: a delta cannot "
                    "follow them",
                    folder, options.name));
  }
  if (what.delta) index.exports = before.exports;
  index.exports.push_back(what);
  if (const std::string problem = problem_of(index); !problem.empty()) {
    fail_usage(fmt::format("table '{}' cannot be exported: {}", options.name, problem));
  }
  write_file_atomically(folder + "/" + kIndexFile, index_text(index));
  if (!what.delta && !before.exports.empty()) remove_before(folder, before.exports[0].number);
}

}  // namespace trireme::distributed::checkpoint
