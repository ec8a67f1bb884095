// sum_rows: rows, values, distinct, sums.
// `distinct` has the distinct numbers in `rows` in ascending order, then -1. `sums` has the sum of
// the values of each, added in order as sums.h says.

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "kernels/call.h"
#include "kernels/families.h"
#include "kernels/sums.h"

namespace trireme::kernels {

namespace {

// A row's number and where it stands.
struct Entry {
  std::int64_t row, at;
};

// A stable sort by row, from the lowest digit to the highest: Knuth, "The art of computer
// programming", volume 3, 5.2.5. Returns where the result is, `entries` or `spare`.
Entry* sort_by_row(Entry* entries, Entry* spare, std::int64_t count, std::int64_t largest) {
  constexpr int kBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  const int width = std::bit_width(static_cast<std::uint64_t>(largest));
  for (int shift = 0; shift < width; shift += kBits) {
    const auto digit = [shift](const Entry& entry) {
      return static_cast<std::size_t>(entry.row >> shift) & (kDigits - 1);
    };
    std::array<std::int64_t, kDigits> places{};  // first the counts
    for (std::int64_t i = 0; i < count; ++i) ++places[digit(entries[i])];
    std::int64_t before = 0;
    for (std::int64_t& place : places) before += std::exchange(place, before);
    for (std::int64_t i = 0; i < count; ++i) spare[places[digit(entries[i])]++] = entries[i];
    std::swap(entries, spare);
  }
  return entries;
}

template <class T>
class SumRows : public KernelInstance {
 public:
  SumRows(std::int64_t count, std::int64_t columns) : count_(count), columns_(columns) {}

  std::size_t workspace_bytes(int) const override {
    const auto count = static_cast<std::size_t>(count_);
    return 2 * count * sizeof(Entry) + (count + 1) * sizeof(std::int64_t);
  }

  void run(void* const* tensors, void* workspace, device::Device& device) override {
    const auto* rows = static_cast<const std::int64_t*>(tensors[0]);
    const auto* values = static_cast<const T*>(tensors[1]);
    auto* distinct = static_cast<std::int64_t*>(tensors[2]);
    auto* sums = static_cast<T*>(tensors[3]);
    auto* entries = static_cast<Entry*>(workspace);
    auto* starts = reinterpret_cast<std::int64_t*>(entries + 2 * count_);
    const Entry* sorted = sort(rows, entries);
    const std::int64_t found = number(sorted, distinct, starts);

    constexpr std::int64_t kMinPerThread = 16384;  // elements
    const std::int64_t grain = std::max<std::int64_t>(1, kMinPerThread / (columns_ + 1));
    device.run(count_, grain, count_ > grain, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t k = begin; k < std::min(end, found); ++k) {
        const auto line = [&](std::int64_t i) {
          return values + sorted[starts[k] + i].at * columns_;
        };
        add_lines(starts[k + 1] - starts[k], columns_, line, sums + k * columns_);
      }
      const std::int64_t rest = std::clamp(found, begin, end);
      std::fill(sums + rest * columns_, sums + end * columns_, T{0});
    });
  }

 private:
  // The entries of rows that are not negative, by row.
  const Entry* sort(const std::int64_t* rows, Entry* entries) {
    kept_ = 0;
    std::int64_t largest = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (rows[i] < 0) continue;
      entries[kept_++] = {rows[i], i};
      largest = std::max(largest, rows[i]);
    }
    return sort_by_row(entries, entries + count_, kept_, largest);
  }

  // Entries [starts[k], starts[k + 1]) are those of distinct[k]. Returns how many there are.
  std::int64_t number(const Entry* sorted, std::int64_t* distinct, std::int64_t* starts) const {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < kept_; ++i) {
      if (i > 0 && sorted[i].row == sorted[i - 1].row) continue;
      distinct[found] = sorted[i].row;
      starts[found++] = i;
    }
    starts[found] = kept_;
    std::fill(distinct + found, distinct + count_, -1);
    return found;
  }

  std::int64_t count_, columns_;
  std::int64_t kept_ = 0;  // in this run
};

}  // namespace

std::unique_ptr<KernelInstance> prepare_sum_rows(const Call& call) {
  require_tensors("sum_rows", call, 4);
  const Sizes& rows = call.tensors[0].shape;
  const Sizes& values = call.tensors[1].shape;
  if (rows.size() != 1 || values.empty() || values[0] != rows[0] || call.tensors[2].shape != rows ||
      call.tensors[3].shape != values || call.tensors[1].dtype != call.tensors[3].dtype ||
      call.tensors[0].dtype != DType::i64 || call.tensors[2].dtype != DType::i64) {
    fail_call("sum_rows", call, "the shapes or dtypes do not fit");
  }
  const std::int64_t columns = elements(Sizes(values.begin() + 1, values.end()));
  switch (call.tensors[1].dtype) {
    case DType::f32: return std::make_unique<SumRows<float>>(rows[0], columns);
    case DType::f64: return std::make_unique<SumRows<double>>(rows[0], columns);
    default: fail_call("sum_rows", call, "only floats are summed");
  }
}

}  // namespace trireme::kernels
