#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "base/checked_folder.h"
#include "base/error.h"
#include "base/folder.h"
#include "session/train/checkpoint.h"
#include "session/train/run_folder.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";

std::string folder_name(std::int64_t step) { return fmt::format("{}{:09}", kPrefix, step); }

// Empty if it is not the name of a checkpoint: other folders may have similar ones.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (error != std::errc() || stop != end || step < 0 || name != folder_name(step))
    return std::nullopt;
  return step;
}

std::vector<std::string> names_of(const std::string& directory) {
  int error = 0;
  std::vector<std::string> names = names_in(directory, error);
  if (error != 0 && error != ENOENT) {
    fail_io(fmt::format("cannot read the folder {}: {}", directory, error_reason(error)));
  }
  return names;
}

// Renamed first, so that no half of it is ever taken for a checkpoint.
void remove_checkpoint(const std::string& path) {
  const std::string removed = path + ".tmp.removed";
  ::rename(path.c_str(), removed.c_str());
  delete_tree(removed);
}

}  // namespace

std::vector<std::int64_t> CheckpointFolder::steps() const {
  std::vector<std::int64_t> steps;
  for (const std::string& name : names_of(directory_)) {
    if (const auto step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string CheckpointFolder::path(std::int64_t step) const {
  return directory_ + "/" + folder_name(step);
}

void CheckpointFolder::save(const CheckpointState& state) {
  write_checkpoint(path(state.progression.steps), state);
}

void CheckpointFolder::remove_after(std::int64_t step) {
  for (const std::int64_t later : steps()) {
    if (later > step) remove_checkpoint(path(later));
  }
}

void CheckpointFolder::prune(int keep, std::optional<std::int64_t> best) {
  for (const std::string& name : names_of(directory_)) {
    if (!name.starts_with(kPrefix) || name.find(".tmp.") == std::string::npos) continue;
    delete_tree(directory_ + "/" + name);
  }
  if (keep <= 0) return;
  const std::vector<std::int64_t> all = steps();
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i) {
    if (all[i] != best) remove_checkpoint(path(all[i]));
  }
}

std::optional<CheckpointState> CheckpointFolder::newest() const {
  const std::vector<std::int64_t> all = steps();
  std::optional<Error> first_error;
  std::error_code ignored;
  for (auto step = all.rbegin(); step != all.rend(); ++step) {
    try {
      CheckpointState state = read_checkpoint(path(*step));
      if (first_error) {
        std::fprintf(stderr, "warning: %s\n  now    going on from %s\n", first_error->what(),
                     path(*step).c_str());
      }
      return state;
    } catch (const Error& error) {
      // Also a plain file of that name, and a folder that is gone meanwhile.
      const bool is_folder = fs::is_directory(path(*step), ignored);
      if (error.kind() != ErrorKind::data && is_folder) throw;
      if (!first_error) first_error = error;
    }
  }
  if (first_error) throw Error(*first_error);
  return std::nullopt;
}

CheckpointState find_checkpoint(const std::string& directory) {
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored)) {
    fail(ErrorKind::not_found, fmt::format("there is no folder {}", directory));
  }
  if (fs::exists(directory + "/" + kChecksumsFile, ignored) ||
      step_of(fs::path(directory).filename().string())) {
    return read_checkpoint(directory);
  }
  for (const std::string& folder : {checkpoints_of(directory), directory}) {
    if (std::optional<CheckpointState> state = CheckpointFolder(folder).newest()) {
      return std::move(*state);
    }
  }
  fail(ErrorKind::not_found, fmt::format("{} holds no checkpoint\n  hint   name a checkpoint, or a "
                                         "run folder with checkpoints",
                                         directory));
}

}  // namespace trireme
