#include "data/known.h"

#include <algorithm>

#include "base/error.h"
#include "data/find.h"
#include "trireme/data.h"
#include "trireme/text_data.h"

namespace trireme::data {
namespace {

constexpr Known<Dataset> kKnown[] = {{"fashion_mnist", fashion_mnist},
                                     {"mnist", mnist},
                                     {"cifar10", cifar10},
                                     {"california_housing", california_housing},
                                     {"boston_housing", boston_housing},
                                     {"adult", adult},
                                     {"movielens", movielens},
                                     {"frappe", frappe},
                                     {"criteo", criteo},
                                     {"bccd", bccd}};

}  // namespace

std::vector<std::string> known_datasets() { return names_of<Dataset>(kKnown); }

std::vector<KnownData> known_data(const LoadOptions& options) {
  std::vector<KnownData> result;
  for (const KnownPlace& place : known_places()) {
    for (const KnownPart& part : place.parts) {
      KnownData data{place.name + "/" + part.split, {}, place.advice};
      try {
        data.files = find_part(place, part.split, options.directory);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::not_found) throw;
      }
      result.push_back(std::move(data));
    }
  }
  return result;
}

NameAndPart checked_name(std::string_view text, const char* what,
                         const std::vector<std::string>& names) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string name(text.substr(0, slash));
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    std::string message =
        std::string("unknown ") + what + " \"" + std::string(text) + "\"; there are";
    for (const std::string& known : names) message += " " + known;
    const std::string near = nearest(name, names);
    fail_usage(message + (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
  }
  if (slash == text.size()) {
    std::string message = std::string(what) + " \"" + name + "\": say which part:";
    for (const KnownPart& part : known_place(name).parts) message += " " + name + "/" + part.split;
    fail_usage(message);
  }
  return {name, std::string(text.substr(slash + 1))};
}

Dataset open(std::string_view name, const LoadOptions& options) {
  if (is_corpus(name)) {
    fail_usage("\"" + std::string(name) + "\" is text, which has to become numbers first: " +
               "trireme/text_data.h reads it, open_text()");
  }
  return load_known<Dataset>(kKnown, name, "data set", options);
}

}  // namespace trireme::data
