#include "data/find.h"

#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace trireme::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> folders_to_search(const KnownPlace& place, const std::string& directory) {
  std::vector<std::string> result;
  const auto add = [&](const fs::path& root, bool itself) {
    if (itself) result.push_back(root.string());
    for (const std::string& folder : place.folders) result.push_back((root / folder).string());
  };
  if (!directory.empty()) {
    add(directory, true);
    return result;
  }
  if (const char* root = std::getenv("TRIREME_DATA"); root != nullptr && *root != '\0') {
    add(root, true);
  }
  std::error_code error;
  for (fs::path here = fs::current_path(error); here.has_relative_path();
       here = here.parent_path()) {
    add(here.parent_path() / "shared" / "data", false);
  }
  if (!place.system_folder.empty()) result.push_back(place.system_folder);
  return result;
}

}  // namespace

std::string find_data_file(const KnownPlace& place, const std::vector<std::string>& files,
                           const std::string& directory) {
  for (const std::string& folder : folders_to_search(place, directory)) {
    for (const std::string& file : files) {
      std::error_code error;
      const fs::path path = fs::path(folder) / file;
      if (fs::is_regular_file(path, error)) return path.string();
    }
  }
  const std::string places =
      directory.empty()
          ? "in $TRIREME_DATA, in ../shared/data" +
                (place.system_folder.empty() ? std::string() : " and in " + place.system_folder)
          : "in " + directory;
  fail(ErrorKind::not_found, place.name + ": no " + files.front() + " found " + places + "; " +
                                 place.advice + ", or name the directory that has it");
}

std::vector<std::string> find_part(const KnownPlace& place, std::string_view split,
                                   const std::string& directory) {
  for (const KnownPart& part : place.parts) {
    if (part.split != split) continue;
    std::vector<std::string> paths;
    for (const auto& names : part.files) paths.push_back(find_data_file(place, names, directory));
    return paths;
  }
  std::string message = place.name + ": no split \"" + std::string(split) + "\"; there are";
  for (const KnownPart& part : place.parts) {
    message += (&part == &place.parts.front() ? " " : " and ") + part.split;
  }
  fail_usage(message);
}

}  // namespace trireme::data
