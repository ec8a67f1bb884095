#include "data/join.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace trireme::data {
namespace {

Tensor joined_tensors(const std::vector<Tensor>& parts) {
  std::vector<std::int64_t> shape = parts[0].shape();
  shape[0] = 0;
  for (const Tensor& part : parts) shape[0] += part.dim(0);
  Tensor all = Tensor::uninitialized(parts[0].dtype(), std::move(shape));
  std::byte* to = all.bytes();
  for (const Tensor& part : parts) {
    if (part.size_bytes() > 0) std::memcpy(to, part.bytes(), part.size_bytes());
    to += part.size_bytes();
  }
  return all;
}

RaggedTensor joined_ragged(const std::vector<RaggedTensor>& parts) {
  std::vector<Tensor> rows, splits;
  for (const RaggedTensor& part : parts) rows.push_back(part.rows());
  for (int level = 0; level < parts[0].levels(); ++level) {
    std::vector<std::int64_t> lengths;
    for (const RaggedTensor& part : parts) {
      const std::vector<std::int64_t> more = part.lengths(level);
      lengths.insert(lengths.end(), more.begin(), more.end());
    }
    splits.push_back(splits_of(lengths));
  }
  return {joined_tensors(rows), std::move(splits)};
}

std::string type_of(const Column& column) {
  return fmt::format("{}[{}]{}", name_of(column.dtype), fmt::join(column.shape, ", "),
                     column.levels == 0 ? "" : fmt::format(" with {} levels", column.levels));
}

}  // namespace

Tensor gathered_rows(const Tensor& tensor, std::span<const std::int64_t> rows) {
  std::vector<std::int64_t> shape = tensor.shape();
  shape[0] = static_cast<std::int64_t>(rows.size());
  Tensor result = Tensor::uninitialized(tensor.dtype(), std::move(shape));
  const std::size_t bytes = rows.empty() ? 0 : result.size_bytes() / rows.size();
  for (std::size_t i = 0; bytes > 0 && i < rows.size(); ++i) {
    std::memcpy(result.bytes() + i * bytes,
                tensor.bytes() + static_cast<std::size_t>(rows[i]) * bytes, bytes);
  }
  return result;
}

Batch slice_of(const Batch& batch, const std::vector<Column>& columns, std::int64_t begin,
               std::int64_t end) {
  Batch slice;
  for (const Column& column : columns) {
    if (column.levels == 0) {
      slice.emplace(column.name, batch.at(column.name).rows(begin, end));
    } else {
      RaggedTensor::from_feeds(batch, column.name).slice(begin, end).add_to(slice, column.name);
    }
  }
  return slice;
}

Batch joined_batches(const std::vector<Batch>& batches, const std::vector<Column>& columns) {
  if (batches.size() == 1) return batches[0];
  Batch joined;
  for (const Column& column : columns) {
    if (column.levels == 0) {
      std::vector<Tensor> parts;
      for (const Batch& batch : batches) parts.push_back(batch.at(column.name));
      joined.emplace(column.name, joined_tensors(parts));
      continue;
    }
    std::vector<RaggedTensor> parts;
    for (const Batch& batch : batches) {
      parts.push_back(RaggedTensor::from_feeds(batch, column.name));
    }
    joined_ragged(parts).add_to(joined, column.name);
  }
  return joined;
}

Batch gathered(const Batch& batch, const std::vector<Column>& columns,
               std::span<const std::int64_t> rows) {
  Batch result;
  for (const Column& column : columns) {
    if (column.levels == 0) {
      result.emplace(column.name, gathered_rows(batch.at(column.name), rows));
    } else {
      RaggedTensor::from_feeds(batch, column.name).gather(rows).add_to(result, column.name);
    }
  }
  return result;
}

std::string difference_of(const std::vector<Column>& columns, const std::vector<Column>& others) {
  for (const Column& column : columns) {
    const auto other = std::find_if(others.begin(), others.end(),
                                    [&](const Column& c) { return c.name == column.name; });
    if (other == others.end()) return fmt::format("column \"{}\" is missing", column.name);
    if (type_of(*other) != type_of(column)) {
      return fmt::format("column \"{}\" is {}, not {}", column.name, type_of(*other),
                         type_of(column));
    }
  }
  for (const Column& other : others) {
    const bool known = std::any_of(columns.begin(), columns.end(),
                                   [&](const Column& c) { return c.name == other.name; });
    if (!known) return fmt::format("column \"{}\" is new", other.name);
  }
  return "";
}

}  // namespace trireme::data
