// Reading record files. What cannot be trusted is checked before it is used.
#include "data/records.h"

#include <bit>
#include <cstring>

#include "base/checksum.h"
#include "base/error.h"

namespace trireme::data {
namespace {

static_assert(std::endian::native == std::endian::little, "record files are little-endian");

template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class RecordsSource : public Source {
 public:
  RecordsSource(Blob blob, const std::string& name) : blob_(std::move(blob)), name_(name) {
    const std::string_view bytes = blob_.bytes;
    if (!bytes.starts_with(kRecordsMagic)) fail_data(name + ": not a record file");
    if (bytes.size() < kRecordsPrefix + kRecordsFooter) fail_data(name + ": cut short");
    const auto version = number_at<std::uint32_t>(bytes, 8);
    if (version != kRecordsVersion) {
      fail_data(name + ": a record file of version " + std::to_string(version) +
                "; this program reads version " + std::to_string(kRecordsVersion));
    }
    const std::size_t text = number_at<std::uint32_t>(bytes, 12);
    if (text > bytes.size() - kRecordsPrefix - kRecordsFooter) {
      fail_data(name + ": cut short, or the size of the header at byte 12 is damaged");
    }
    const std::string_view header = bytes.substr(kRecordsPrefix, text);
    if (hash64(header) != number_at<std::uint64_t>(bytes, 16)) {
      fail_data(name + ": damaged: the checksum of the header at byte 16 is wrong");
    }
    header_ = parse_header(header, name);
    for (const StoredColumn& stored : header_.columns) columns_.push_back(stored.column);
    read_index(kRecordsPrefix + text);
  }

  std::int64_t size() const override { return count_; }
  const std::vector<Column>& columns() const override { return columns_; }
  const std::vector<std::string>& class_names() const override { return header_.class_names; }

  Batch gather(std::span<const std::int64_t> rows) const override {
    std::vector<Tensor> tensors;
    for (const Column& column : columns_) {
      std::vector<std::int64_t> shape = column.shape;
      shape.insert(shape.begin(), static_cast<std::int64_t>(rows.size()));
      tensors.push_back(Tensor::uninitialized(column.dtype, std::move(shape)));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const char* payload = checked_payload(rows[i]);
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        const StoredColumn& stored = header_.columns[c];
        copy_value(stored, payload, tensors[c], i);
        payload += stored.size_bytes();
      }
    }
    Batch batch;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      batch.emplace(columns_[c].name, std::move(tensors[c]));
    }
    return batch;
  }

 private:
  // Checks the footer, the index, and that the records lie side by side between header and index.
  void read_index(std::size_t first) {
    const std::string_view bytes = blob_.bytes;
    const std::size_t footer = bytes.size() - kRecordsFooter;
    if (bytes.substr(footer + 24) != kRecordsEnd) {
      fail_data(name_ + ": cut short: the end of a record file is missing");
    }
    const auto index = number_at<std::uint64_t>(bytes, footer);
    const auto count = number_at<std::uint64_t>(bytes, footer + 8);
    const std::uint64_t entries = index <= footer ? (footer - index) / 8 : 0;
    if (index < first || index > footer || (footer - index) % 8 != 0 || entries != count + 1) {
      fail_data(name_ + ": damaged: the place of the index at byte " + std::to_string(footer) +
                " is impossible");
    }
    const std::string_view table = bytes.substr(index, footer - index);
    if (hash64(table) != number_at<std::uint64_t>(bytes, footer + 16)) {
      fail_data(name_ + ": damaged: the checksum of the index at byte " +
                std::to_string(footer + 16) + " is wrong");
    }
    const std::size_t record = 8 + header_.payload();
    for (std::uint64_t i = 0; i <= count; ++i) {
      const auto offset = number_at<std::uint64_t>(table, i * 8);
      if (offset != first + i * record || (i == count && offset != index)) {
        fail_data(name_ + ": damaged: record " + std::to_string(i) + " cannot start at byte " +
                  std::to_string(offset));
      }
    }
    if (count == 0) fail_data(name_ + ": the file has no records");
    count_ = static_cast<std::int64_t>(count);
    index_ = index;
  }

  const char* checked_payload(std::int64_t row) const {
    const auto at =
        number_at<std::uint64_t>(blob_.bytes, index_ + static_cast<std::size_t>(row) * 8);
    const std::string_view payload = blob_.bytes.substr(at + 8, header_.payload());
    if (hash64(payload) != number_at<std::uint64_t>(blob_.bytes, at)) {
      fail_data(name_ + ": damaged: the checksum of record " + std::to_string(row) + " at byte " +
                std::to_string(at) + " is wrong");
    }
    return payload.data();
  }

  static void copy_value(const StoredColumn& stored, const char* payload, Tensor& tensor,
                         std::size_t i) {
    const std::size_t elements = stored.elements();
    if (elements == 0) return;
    if (!stored.as_bytes) {
      std::memcpy(tensor.bytes() + i * stored.size_bytes(), payload, stored.size_bytes());
      return;
    }
    const auto* from = reinterpret_cast<const std::uint8_t*>(payload);
    float* to = tensor.data<float>() + i * elements;
    for (std::size_t k = 0; k < elements; ++k) to[k] = static_cast<float>(from[k]) / 255.0f;
  }

  Blob blob_;
  std::string name_;
  RecordsHeader header_;
  std::vector<Column> columns_;
  std::int64_t count_ = 0;
  std::size_t index_ = 0;
};

}  // namespace

Dataset parse_records(Blob blob, const std::string& name) {
  return Dataset(std::make_shared<RecordsSource>(std::move(blob), name));
}

Dataset records(const std::string& path) { return parse_records(map_file(path), path); }

}  // namespace trireme::data
