// Columns of a job whose sequences are equally long, and so share their rows.

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "session/job/settings.h"

namespace trireme::job {
namespace {

// Empty if both have the same sequences.
std::string difference_in(const data::Batch& batch, const std::string& column,
                          const std::string& other) {
  const RaggedTensor a = RaggedTensor::from_feeds(batch, column),
                     b = RaggedTensor::from_feeds(batch, other);
  if (a.levels() != b.levels()) {
    return fmt::format("\"{}\" has {} levels and \"{}\" {}", column, a.levels(), other, b.levels());
  }
  for (int level = 0; level < a.levels(); ++level) {
    const std::vector<std::int64_t> lengths = a.lengths(level), others = b.lengths(level);
    const auto [here, there] = std::mismatch(lengths.begin(), lengths.end(), others.begin());
    if (here == lengths.end()) continue;
    const char* what = a.levels() == 1 ? "example" : "sequence";
    return fmt::format("{} {} has {} rows of \"{}\" and {} of \"{}\"", what, here - lengths.begin(),
                       *here, column, *there, other);
  }
  return "";
}

}  // namespace

std::string difference_of(const data::Dataset& dataset, const std::string& column,
                          const std::string& other) {
  constexpr std::int64_t kExamples = 256;  // enough to tell
  return difference_in(dataset.rows(0, std::min(kExamples, dataset.size())), column, other);
}

data::Dataset check_structure(const data::Dataset& dataset,
                              const std::map<std::string, std::string>& rows_of) {
  return dataset.map([rows_of](data::Batch batch) {
    for (const auto& [column, other] : rows_of) {
      const std::string difference = difference_in(batch, column, other);
      if (difference.empty()) continue;
      fail_data(
          fmt::format("columns \"{}\" and \"{}\" must have sequences of the same lengths, but of "
                      "a batch {}",
                      column, other, difference));
    }
    return batch;
  });
}

}  // namespace trireme::job
