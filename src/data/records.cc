// Reading record files. What cannot be trusted is checked before it is used.
#include "data/records.h"

#include <bit>
#include <cstring>
#include <utility>

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

// The unread bytes of an example while its columns are read.
class Payload {
 public:
  explicit Payload(std::string_view bytes) : rest_(bytes) {}

  bool has(std::size_t count, std::size_t size) const {
    return size == 0 || count <= rest_.size() / size;
  }
  const char* take(std::size_t bytes) {
    const char* begin = rest_.data();
    rest_.remove_prefix(bytes);
    return begin;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// The sequences of a ragged column, example after example.
class Sequences {
 public:
  explicit Sequences(const StoredColumn& stored)
      : stored_(stored), lengths_(static_cast<std::size_t>(stored.column.levels)) {}

  // False if what the example says of its lengths cannot be.
  bool add(Payload& payload) {
    std::int64_t count = 1;  // of things in the level
    for (std::vector<std::int64_t>& lengths : lengths_) {
      if (!payload.has(static_cast<std::size_t>(count), sizeof(std::int64_t))) return false;
      std::int64_t below = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        lengths.push_back(number_at<std::int64_t>({payload.take(8), 8}, 0));
        if (lengths.back() < 0 || lengths.back() > kLargestExample - below) return false;
        below += lengths.back();
      }
      count = below;
    }
    if (!payload.has(static_cast<std::size_t>(count), stored_.size_bytes())) return false;
    const std::size_t bytes = static_cast<std::size_t>(count) * stored_.size_bytes();
    rows_.append(payload.take(bytes), bytes);
    count_ += count;
    return true;
  }

  const std::string& name() const { return stored_.column.name; }

  RaggedTensor joined() const {
    std::vector<std::int64_t> shape = stored_.column.shape;
    shape.insert(shape.begin(), count_);
    Tensor rows = Tensor::uninitialized(stored_.column.dtype, std::move(shape));
    if (!rows_.empty()) std::memcpy(rows.bytes(), rows_.data(), rows_.size());
    std::vector<Tensor> splits;
    for (const std::vector<std::int64_t>& lengths : lengths_) splits.push_back(splits_of(lengths));
    return RaggedTensor(rows, std::move(splits));
  }

 private:
  const StoredColumn& stored_;
  std::vector<std::vector<std::int64_t>> lengths_;  // by level
  std::string rows_;
  std::int64_t count_ = 0;  // of packed rows
};

class RecordsSource : public Source {
 public:
  RecordsSource(RandomAccess file, const std::string& name) : file_(std::move(file)), name_(name) {
    std::string memory;
    const std::size_t size = file_.size();
    if (size < kRecordsMagic.size() ||
        file_.read(0, kRecordsMagic.size(), memory) != kRecordsMagic) {
      fail_data(name + ": not a record file");
    }
    if (size < kRecordsPrefix + kRecordsFooter) fail_data(name + ": cut short");
    const std::string prefix(file_.read(0, kRecordsPrefix, memory));
    const auto version = number_at<std::uint32_t>(prefix, 8);
    if (version < 1 || version > kRecordsVersion) {
      fail_data(name + ": a record file of version " + std::to_string(version) +
                "; this program reads versions 1 to " + std::to_string(kRecordsVersion));
    }
    const std::size_t text = number_at<std::uint32_t>(prefix, 12);
    if (text > size - kRecordsPrefix - kRecordsFooter) {
      fail_data(name + ": cut short, or the size of the header at byte 12 is damaged");
    }
    const std::string_view header = file_.read(kRecordsPrefix, text, memory);
    if (hash64(header) != number_at<std::uint64_t>(prefix, 16)) {
      fail_data(name + ": damaged: the checksum of the header at byte 16 is wrong");
    }
    header_ = parse_header(header, name);
    if (version == 1 && header_.ragged()) {
      fail_data(name + ": damaged: version 1 has no ragged columns");
    }
    for (const StoredColumn& stored : header_.columns) columns_.push_back(stored.column);
    read_index(kRecordsPrefix + text);
  }

  std::int64_t size() const override { return count_; }
  const std::vector<Column>& columns() const override { return columns_; }
  const std::vector<std::string>& class_names() const override { return header_.class_names; }

  Batch gather(std::span<const std::int64_t> rows) const override {
    Batch batch;
    std::vector<Sequences> sequences;
    for (const StoredColumn& stored : header_.columns) {
      const Column& column = stored.column;
      if (column.levels > 0) {
        sequences.emplace_back(stored);
        continue;
      }
      std::vector<std::int64_t> shape = column.shape;
      shape.insert(shape.begin(), static_cast<std::int64_t>(rows.size()));
      batch.emplace(column.name, Tensor::uninitialized(column.dtype, std::move(shape)));
    }
    std::string memory;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      read_example(rows[i], i, batch, sequences, memory);
    }
    for (const Sequences& column : sequences) column.joined().add_to(batch, column.name());
    return batch;
  }

 private:
  // Checks the footer, the index, and that the records lie side by side between header and index.
  void read_index(std::size_t first) {
    std::string memory;
    const std::size_t footer = file_.size() - kRecordsFooter;
    const std::string end(file_.read(footer, kRecordsFooter, memory));
    if (end.substr(24) != kRecordsEnd) {
      fail_data(name_ + ": cut short: the end of a record file is missing");
    }
    const auto index = number_at<std::uint64_t>(end, 0);
    const auto count = number_at<std::uint64_t>(end, 8);
    const std::uint64_t entries = index <= footer ? (footer - index) / 8 : 0;
    if (index < first || (footer - index) % 8 != 0 || entries == 0 || entries != count + 1) {
      fail_data(name_ + ": damaged: the place of the index at byte " + std::to_string(footer) +
                " is impossible");
    }
    const std::string_view table = file_.read(index, footer - index, memory);
    if (hash64(table) != number_at<std::uint64_t>(end, 16)) {
      fail_data(name_ + ": damaged: the checksum of the index at byte " +
                std::to_string(footer + 16) + " is wrong");
    }
    check_places(first, index, table);
    if (count == 0) fail_data(name_ + ": the file has no records");
    count_ = static_cast<std::int64_t>(count);
    index_ = index;
  }

  // Records lie side by side, and are of one size or, if ragged, of no less.
  void check_places(std::size_t first, std::uint64_t end, std::string_view table) const {
    const std::size_t min = 8 + header_.payload();
    const std::uint64_t count = table.size() / 8 - 1;
    std::uint64_t before = first;
    for (std::uint64_t i = 0; i <= count; ++i) {
      const auto offset = number_at<std::uint64_t>(table, i * 8);
      const std::uint64_t size = offset - before;
      bool possible = offset >= before && offset <= end;
      if (i == 0) possible = possible && size == 0;
      else possible = possible && (header_.ragged() ? size >= min : size == min);
      if (!possible || (i == count && offset != end)) {
        fail_data(name_ + ": damaged: record " + std::to_string(i) + " cannot start at byte " +
                  std::to_string(offset));
      }
      before = offset;
    }
  }

  // Where a record and the one after it begin. The index was checked, but the file may have been
  // written to since.
  std::pair<std::uint64_t, std::uint64_t> place(std::int64_t row) const {
    std::string memory;
    const std::string_view entries =
        file_.read(index_ + static_cast<std::uint64_t>(row) * 8, 16, memory);
    const std::pair place(number_at<std::uint64_t>(entries, 0),
                          number_at<std::uint64_t>(entries, 8));
    if (place.first > place.second || place.second > index_ || place.second - place.first < 8) {
      fail_data(name_ + ": damaged: the place of record " + std::to_string(row) +
                " has changed since the file was opened");
    }
    return place;
  }

  // The payload of a record, which may lie in `memory`.
  std::string_view checked_payload(std::int64_t row, std::string& memory) const {
    const auto [at, end] = place(row);
    const std::string_view record = file_.read(at, end - at, memory);
    const std::string_view payload = record.substr(8);
    if (hash64(payload) != number_at<std::uint64_t>(record, 0)) {
      fail_data(name_ + ": damaged: the checksum of record " + std::to_string(row) + " at byte " +
                std::to_string(at) + " is wrong");
    }
    return payload;
  }

  // Writes row `row` of the file into place `i` of the batch and behind the sequences.
  void read_example(std::int64_t row, std::size_t i, Batch& batch,
                    std::vector<Sequences>& sequences, std::string& memory) const {
    Payload payload(checked_payload(row, memory));
    auto ragged = sequences.begin();
    bool fits = true;
    for (const StoredColumn& stored : header_.columns) {
      if (stored.column.levels > 0) {
        fits = fits && ragged++->add(payload);
      } else if (fits = fits && payload.has(1, stored.size_bytes()); fits) {
        copy_value(stored, payload.take(stored.size_bytes()), batch.at(stored.column.name), i);
      }
    }
    if (fits && payload.done()) return;
    fail_data(name_ + ": damaged: the lengths in record " + std::to_string(row) + " at byte " +
              std::to_string(place(row).first) + " do not fit its size");
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

  RandomAccess file_;
  std::string name_;
  RecordsHeader header_;
  std::vector<Column> columns_;
  std::int64_t count_ = 0;
  std::uint64_t index_ = 0;
};

}  // namespace

Dataset parse_records(RandomAccess file, const std::string& name) {
  return Dataset(std::make_shared<RecordsSource>(std::move(file), name));
}

Dataset records(const std::string& path) { return parse_records(RandomAccess::open(path), path); }

}  // namespace trireme::data
