#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

// One part of a data set and its files, each with alternative names.
struct KnownPart {
  std::string split;  // "train"
  std::vector<std::vector<std::string>> files;
};

// A data set that has a name, and the places where its files may be.
struct KnownPlace {
  std::string name;                  // for messages: "fashion_mnist"
  std::vector<std::string> folders;  // its folder below a data directory, any of these names
  std::string system_folder;         // where a Debian package puts it; may be empty
  std::string advice;                // how to get it: "apt-get install dataset-fashion-mnist"
  std::vector<KnownPart> parts;
};

// Returns the path of the first of `files` (alternatives, such as with and without ".gz") that
// exists. If `directory` is given, looks only there and in the known folders below it. Otherwise
// looks below $TRIREME_DATA, below ../shared/data beside the working directory and each of its
// parents, then in the system folder. Errors: not_found, one line with the searched folders and how
// to get the file.
std::string find_data_file(const KnownPlace& place, const std::vector<std::string>& files,
                           const std::string& directory);

// Returns the files of one part. Errors: as find_data_file; usage for an unknown part.
std::vector<std::string> find_part(const KnownPlace& place, std::string_view split,
                                   const std::string& directory);

// Return all data sets that have names, and one of them. Precondition: the name exists.
const std::vector<KnownPlace>& known_places();
const KnownPlace& known_place(std::string_view name);

}  // namespace trireme::data
