#include "base/error.h"
#include "data/find.h"
#include "trireme/data.h"
#include "trireme/text_data.h"

namespace trireme::data {
namespace {

struct Known {
  const char* name;
  Dataset (*load)(std::string_view split, const LoadOptions& options);
};

constexpr Known kKnown[] = {{"fashion_mnist", fashion_mnist},
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

std::vector<std::string> known_datasets() {
  std::vector<std::string> names;
  for (const Known& known : kKnown) names.push_back(known.name);
  return names;
}

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

Dataset open(std::string_view name, const LoadOptions& options) {
  const std::size_t slash = name.find('/');
  const std::string dataset(name.substr(0, slash));
  for (const Known& known : kKnown) {
    if (dataset != known.name) continue;
    if (slash == std::string_view::npos) {
      fail_usage("data set \"" + dataset + "\": say which part: " + dataset + "/train or " +
                 dataset + "/test");
    }
    return known.load(name.substr(slash + 1), options);
  }
  for (const std::string& corpus : known_corpora()) {
    if (dataset != corpus) continue;
    fail_usage("\"" + std::string(name) + "\" is text, which has to become numbers first: " +
               "trireme/text_data.h reads it, open_text()");
  }
  std::string message = "unknown data set \"" + std::string(name) + "\"; there are";
  for (const std::string& known : known_datasets()) message += " " + known;
  const std::string near = nearest(dataset, known_datasets());
  if (!near.empty()) message += "; did you mean \"" + near + "\"?";
  fail_usage(message);
}

}  // namespace trireme::data
