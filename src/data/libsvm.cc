#include "data/libsvm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"
#include "data/blob.h"
#include "data/columns.h"
#include "data/lines.h"

namespace trireme::data {
namespace {

class LibsvmReader {
 public:
  LibsvmReader(const std::string& name, const LibsvmOptions& options)
      : name_(name), options_(options) {}

  void read(std::string_view text) {
    for (const std::string_view row : lines_of(without_bom(text))) {
      ++line_;
      read_row(row);
    }
    if (targets_.empty()) fail_data(name_ + ": the file has no rows");
    if (width_ == 0) fail_data(name_ + ": the rows have no id:value pairs");
  }

  Dataset dataset() const {
    const auto rows = static_cast<std::int64_t>(targets_.size());
    const auto width = static_cast<std::int64_t>(width_);
    Column ids{"ids"};
    ids.ids = options_.ids > 0 ? options_.ids : *std::max_element(ids_.begin(), ids_.end()) + 1;
    std::vector<std::pair<Column, Tensor>> columns = {
        {ids, Tensor::from<std::int64_t>({rows, width}, ids_)},
        {Column{"values"}, Tensor::from<float>({rows, width}, values_)},
        {Column{"target"}, Tensor::from<float>({rows, 1}, targets_)}};
    if (!groups_.empty()) {
      columns.emplace_back(Column{"qid"}, Tensor::from<std::int64_t>({rows}, groups_));
    }
    return from_columns(std::move(columns));
  }

 private:
  [[noreturn]] void fail_here(const std::string& what) const {
    fail_data(name_ + ":" + std::to_string(line_) + ": " + what);
  }

  float number(std::string_view word) const {
    const std::optional<double> value = parse_float(word);
    if (!value || !std::isfinite(static_cast<float>(*value))) {
      fail_here("\"" + std::string(word.substr(0, 40)) + "\" is not a number");
    }
    return static_cast<float>(*value);
  }

  void read_row(std::string_view row) {
    row = row.substr(0, row.find('#'));
    const std::string_view target = next_word(row);
    if (target.empty()) return;
    const float value = number(target);
    targets_.push_back(options_.zero_one && value == -1 ? 0 : value);
    std::string_view word = next_word(row);
    if (word.starts_with("qid:")) {
      read_group(word);
      word = next_word(row);
    }
    if (!groups_.empty() && groups_.size() != targets_.size()) {
      fail_here("some rows have a qid and others have none");
    }
    std::size_t pairs = 0;
    for (; !word.empty(); word = next_word(row), ++pairs) read_pair(word);
    if (targets_.size() == 1) width_ = pairs;
    if (pairs != width_) {
      fail_here(std::to_string(pairs) + " id:value pairs, but the first row has " +
                std::to_string(width_) + "; rows of different lengths cannot be read");
    }
  }

  void read_group(std::string_view word) {
    const std::optional<std::int64_t> group = parse_integer(word.substr(4));
    if (!group) fail_here("\"" + std::string(word.substr(0, 40)) + "\" is not a whole number");
    groups_.push_back(*group);
  }

  void read_pair(std::string_view word) {
    const std::size_t colon = word.find(':');
    const std::optional<std::int64_t> id =
        parse_integer(word.substr(0, std::min(colon, word.size())));
    constexpr std::int64_t kMaxIds = std::int64_t{1} << 40;
    if (colon == std::string_view::npos || !id || *id < 0 || *id >= kMaxIds) {
      fail_here("\"" + std::string(word.substr(0, 40)) + "\" is not a pair id:value");
    }
    if (options_.ids > 0 && *id >= options_.ids) {
      fail_here("id " + std::to_string(*id) + " is out of range, ids are 0 to " +
                std::to_string(options_.ids - 1));
    }
    ids_.push_back(*id);
    values_.push_back(number(word.substr(colon + 1)));
  }

  const std::string& name_;
  const LibsvmOptions& options_;
  int line_ = 0;
  std::size_t width_ = 0;
  std::vector<std::int64_t> ids_, groups_;
  std::vector<float> values_;
  std::vector<float> targets_;
};

}  // namespace

Dataset libsvm_from_text(std::string_view text, const std::string& name,
                         const LibsvmOptions& options) {
  LibsvmReader reader(name, options);
  reader.read(text);
  return reader.dataset();
}

Dataset libsvm(const std::string& path, const LibsvmOptions& options) {
  return libsvm_from_text(read_blob(path).bytes, path, options);
}

}  // namespace trireme::data
