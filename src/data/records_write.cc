// Writing record files, a few examples at a time.
#include <cmath>
#include <cstring>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "data/records.h"

namespace trireme::data {
namespace {

constexpr std::int64_t kChunk = 256;  // examples in memory

template <class T>
void write_number(AtomicFile& file, T value) {
  file.write({reinterpret_cast<const char*>(&value), sizeof value});
}

std::uint8_t nearest_byte(float value) {
  return static_cast<std::uint8_t>(std::lround(std::fmin(std::fmax(value, 0.0f), 1.0f) * 255.0f));
}

// Whether every value is exactly some byte / 255, so that bytes lose nothing.
bool are_bytes(const Tensor& tensor) {
  const float* values = tensor.data<float>();
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (static_cast<float>(nearest_byte(values[i])) / 255.0f != values[i]) return false;
    if (values[i] == 0 && std::signbit(values[i])) return false;
  }
  return true;
}

template <class F>
void for_each_chunk(const Dataset& dataset, F f) {
  for (std::int64_t begin = 0; begin < dataset.size(); begin += kChunk) {
    f(dataset.rows(begin, std::min(begin + kChunk, dataset.size())));
  }
}

// Pictures are stored as bytes if all of them are; that takes a reading of its own.
RecordsHeader make_header(const Dataset& dataset) {
  RecordsHeader header{{}, dataset.class_names()};
  bool pictures = false;
  for (const Column& column : dataset.columns()) {
    const bool picture =
        column.dtype == DType::f32 && column.shape.size() == 3 && column.levels == 0;
    header.columns.push_back({column, picture});
    pictures |= picture;
  }
  if (!pictures) return header;
  for_each_chunk(dataset, [&](const Batch& batch) {
    for (StoredColumn& stored : header.columns) {
      stored.as_bytes = stored.as_bytes && are_bytes(batch.at(stored.column.name));
    }
  });
  return header;
}

void append_value(const StoredColumn& stored, const Tensor& tensor, std::int64_t i,
                  std::string& payload) {
  const std::size_t elements = stored.elements();
  if (elements == 0) return;
  if (!stored.as_bytes) {
    const auto* from = reinterpret_cast<const char*>(tensor.bytes());
    payload.append(from + static_cast<std::size_t>(i) * stored.size_bytes(), stored.size_bytes());
    return;
  }
  const float* from = tensor.data<float>() + static_cast<std::size_t>(i) * elements;
  for (std::size_t k = 0; k < elements; ++k) payload += static_cast<char>(nearest_byte(from[k]));
}

// The lengths of example i, level by level, and its packed rows.
void append_sequence(const RaggedTensor& ragged, std::int64_t i, std::string& payload) {
  const RaggedTensor example = ragged.slice(i, i + 1);
  if (example.rows().dim(0) > kLargestExample || example.rows().elements() > kLargestExample) {
    fail_data("write_records: one example has more than 2^31 values");
  }
  for (int level = 0; level < example.levels(); ++level) {
    const std::vector<std::int64_t> lengths = example.lengths(level);
    payload.append(reinterpret_cast<const char*>(lengths.data()),
                   lengths.size() * sizeof(std::int64_t));
  }
  payload.append(reinterpret_cast<const char*>(example.rows().bytes()),
                 example.rows().size_bytes());
}

// Gives `f` each example as it is stored.
template <class F>
void for_each_payload(const RecordsHeader& header, const Batch& batch, F f) {
  std::map<std::string, RaggedTensor> ragged;
  for (const StoredColumn& stored : header.columns) {
    const std::string& name = stored.column.name;
    if (stored.column.levels > 0) ragged[name] = RaggedTensor::from_feeds(batch, name);
  }
  const std::int64_t examples = examples_in(batch);
  for (std::int64_t i = 0; i < examples; ++i) {
    std::string payload;
    for (const StoredColumn& stored : header.columns) {
      const std::string& name = stored.column.name;
      if (stored.column.levels > 0) append_sequence(ragged.at(name), i, payload);
      else append_value(stored, batch.at(name), i, payload);
    }
    f(payload);
  }
}

}  // namespace

void write_records(const std::string& path, const Dataset& dataset) {
  if (dataset.size() == 0) fail_usage("write_records: the data set is empty");
  const RecordsHeader header = make_header(dataset);
  const std::string text = print_header(header);
  parse_header(text, "write_records");  // refuses what could not be read again
  Temporary::remove_stale(path);
  AtomicFile file(path);
  file.write(kRecordsMagic);
  write_number(file, header.ragged() ? kRecordsVersion : 1u);
  write_number(file, static_cast<std::uint32_t>(text.size()));
  write_number(file, hash64(text));
  file.write(text);
  std::vector<std::uint64_t> index;
  for_each_chunk(dataset, [&](const Batch& batch) {
    for_each_payload(header, batch, [&](const std::string& payload) {
      index.push_back(file.size());
      write_number(file, hash64(payload));
      file.write(payload);
    });
  });
  index.push_back(file.size());
  const std::string_view table(reinterpret_cast<const char*>(index.data()), index.size() * 8);
  file.write(table);
  write_number(file, index.back());
  write_number(file, static_cast<std::uint64_t>(dataset.size()));
  write_number(file, hash64(table));
  file.write(kRecordsEnd);
  file.finish();
}

}  // namespace trireme::data
