#pragma once

// Looks up data sets by name: "mnist/train", "banking77/test".

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/known_data.h"

namespace trireme::data {

template <class T>
struct Known {
  const char* name;
  T (*load)(std::string_view split, const LoadOptions& options);
};

template <class T>
std::vector<std::string> names_of(std::span<const Known<T>> all) {
  std::vector<std::string> names;
  for (const Known<T>& known : all) names.push_back(known.name);
  return names;
}

// Returns the name before the slash and the part after it. `what` is for messages, "data set".
// Errors: usage for a name that is not in `names`, with the nearest one, and for a name without a
// part.
struct NameAndPart {
  std::string name, part;
};
NameAndPart checked_name(std::string_view text, const char* what,
                         const std::vector<std::string>& names);

template <class T>
T load_known(std::span<const Known<T>> all, std::string_view text, const char* what,
             const LoadOptions& options) {
  const NameAndPart wanted = checked_name(text, what, names_of(all));
  std::size_t i = 0;
  while (wanted.name != all[i].name) ++i;
  return all[i].load(wanted.part, options);
}

}  // namespace trireme::data
