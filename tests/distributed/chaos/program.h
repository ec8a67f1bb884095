#pragma once

// What the runner knows of the counting Program (program.cc).

#include <chrono>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "trireme/data.h"
#include "trireme/error.h"

namespace trireme::chaos {

inline constexpr std::int64_t kBatch = 8, kTaskBatches = 4;
inline constexpr std::chrono::milliseconds kWork{60};        // time of a batch while faults happen
inline constexpr std::chrono::milliseconds kChiefTime{400};  // before it saves
inline constexpr const char* kChief = "this one saves";      // a line that it prints

// Numbers from 0, in a new order in every epoch, for whole tasks.
inline data::Dataset records(std::int64_t count) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  Tensor column(DType::i64, {count});
  std::memcpy(column.data<std::int64_t>(), ids.data(), ids.size() * sizeof ids[0]);
  return data::from_tensors({{"id", column}}).shuffle(1);
}

// As processes of jobs end.
inline int exit_code_of(const Error& error) {
  return error.kind() == ErrorKind::usage ? 2 : error.kind() == ErrorKind::data ? 3 : 4;
}

}  // namespace trireme::chaos
