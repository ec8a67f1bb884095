// assign_rows: table, which is changed in place, rows, values.
// table[rows[i]] = values[i], in order of i, in place; negative rows are skipped.

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "kernels/call.h"
#include "kernels/families.h"

namespace trireme::kernels {

namespace {

class AssignRows : public KernelInstance {
 public:
  AssignRows(std::int64_t table_rows, std::int64_t count, std::int64_t row_bytes)
      : table_rows_(table_rows), count_(count), row_bytes_(row_bytes) {}

  void run(void* const* tensors, void*, device::Device& device) override {
    auto* table = static_cast<char*>(tensors[0]);
    const auto* rows = static_cast<const std::int64_t*>(tensors[1]);
    const auto* values = static_cast<const char*>(tensors[2]);
    constexpr std::int64_t kMinPerThread = 65536;  // bytes
    const std::int64_t grain = std::max<std::int64_t>(1, kMinPerThread / (row_bytes_ + 16));
    const bool parallel = count_ > grain && are_distinct(rows);
    device.run(count_, grain, parallel, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (rows[i] < 0) continue;
        if (rows[i] >= table_rows_) fail_outside(rows[i], i);
        std::memcpy(table + rows[i] * row_bytes_, values + i * row_bytes_,
                    static_cast<std::size_t>(row_bytes_));
      }
    });
  }

 private:
  // Rising, negative ones aside, as sum_rows gives them: then threads share no row.
  bool are_distinct(const std::int64_t* rows) const {
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (rows[i] < 0) continue;
      if (rows[i] <= last) return false;
      last = rows[i];
    }
    return true;
  }

  [[noreturn]] void fail_outside(std::int64_t row, std::int64_t i) const {
    fail_data(
        fmt::format("assign_rows: row {} at position {} is outside [0, {})", row, i, table_rows_));
  }

  std::int64_t table_rows_, count_, row_bytes_;
};

}  // namespace

std::unique_ptr<KernelInstance> prepare_assign_rows(const Call& call) {
  require_tensors("assign_rows", call, 3);
  const Sizes& table = call.tensors[0].shape;
  const Sizes& rows = call.tensors[1].shape;
  const Sizes& values = call.tensors[2].shape;
  if (rows.size() != 1 || table.empty() || values.size() != table.size() || values[0] != rows[0] ||
      !std::equal(table.begin() + 1, table.end(), values.begin() + 1) ||
      call.tensors[1].dtype != DType::i64 || call.tensors[0].dtype != call.tensors[2].dtype) {
    fail_call("assign_rows", call, "the shapes or dtypes do not fit");
  }
  const std::int64_t row_bytes = elements(Sizes(table.begin() + 1, table.end())) *
                                 static_cast<std::int64_t>(size_of(call.tensors[0].dtype));
  return std::make_unique<AssignRows>(table[0], rows[0], row_bytes);
}

}  // namespace trireme::kernels
