#include "data/text/subword_file.h"

#include <protozero/pbf_reader.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "data/text/utf8.h"

namespace trireme::text {
namespace {

// The tag of field 1001, of bytes, and their number: 32 hexadecimal digits. SentencePiece leaves
// fields from 200 on to others.
constexpr std::string_view kSeal = "\xCA\x3E\x20";
constexpr std::size_t kDigest = 32;

// Numbers of fields, from SentencePiece's sentencepiece_model.proto.
enum ModelField : std::uint32_t { kPieces = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5 };
enum PieceField : std::uint32_t { kPieceText = 1, kPieceScore = 2 };
enum NormalizerField : std::uint32_t { kCharsMap = 2 };

[[noreturn]] void fail_damaged(const std::string& name) {
  fail_data(name + ": is not a model of SentencePiece, or is damaged or cut short");
}

// The fields of a message, in order.
class MessageReader {
  template <class Read>
  auto checked(Read&& read) {
    try {
      return read();
    } catch (const protozero::exception&) {
      fail_damaged(name_);
    }
  }

 public:
  MessageReader(std::string_view message, const std::string& name)
      : reader_(message.data(), message.size()), name_(name) {}

  // Moves to the next field. Returns false at the end.
  bool next() {
    return checked([&] {
      if (unread_) reader_.skip();
      unread_ = reader_.next();
      return unread_;
    });
  }
  bool is(std::uint32_t number, protozero::pbf_wire_type type) const {
    return reader_.tag() == number && reader_.wire_type() == type;
  }
  std::string_view bytes() {
    return checked([&] {
      unread_ = false;
      const protozero::data_view view = reader_.get_view();
      return std::string_view(view.data(), view.size());
    });
  }
  float number() {
    return checked([&] {
      unread_ = false;
      return reader_.get_float();
    });
  }

 private:
  protozero::pbf_reader reader_;
  bool unread_ = false;  // whether the value of the present field is not read yet
  const std::string& name_;
};

std::uint32_t word_at(std::string_view bytes, std::size_t i) {
  static_assert(std::endian::native == std::endian::little);
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + 4 * i, 4);
  return word;
}

// The rules for the normal form: the size of a double array in bytes, that array in the form of
// Darts-clone, and the texts that its values are places in. A unit has the label by which it is
// reached (bits 0 to 7, and 31 in units that hold a value), whether the unit it leads to at label 0
// holds a value (bit 8), and how far it leads (bits 10 to 30, times 256 if bit 9 is set).
class CharsMap {
 public:
  CharsMap(std::string_view blob, const std::string& name) : name_(name) {
    if (blob.size() < 4) fail();
    const std::size_t size = word_at(blob, 0);
    if (size > blob.size() - 4 || size % 4 != 0 || size == 0) fail();
    units_ = blob.substr(4, size);
    count_ = size / 4;
    texts_ = blob.substr(4 + size);
    if (!texts_.ends_with('\0')) fail();
  }

  // Walks over all that a search can reach. Units may be reached in several ways, but in no ring.
  void check() {
    most_.assign(count_, kUnseen);
    values_below(0, 0);
  }

 private:
  static constexpr std::uint32_t kLabelBits = 0x800000FF;
  static constexpr std::uint32_t kHasValue = 1u << 8;
  static constexpr int kMaxValues = 32;  // SentencePiece has space for this many in a search
  static constexpr int kLongest = 1000;  // bytes that one rule may replace
  enum : int { kUnseen = -1, kOpen = -2 };

  [[noreturn]] void fail() const {
    fail_data(name_ + ": the model's rules for the normal form of text are damaged");
  }

  std::size_t next_base(std::size_t at) const {
    const std::uint32_t unit = word_at(units_, at);
    const std::size_t offset = std::size_t{unit >> 10} << ((unit & (1u << 9)) >> 6);
    const std::size_t base = at ^ offset;
    if ((base | 0xFF) >= count_) fail();
    return base;
  }

  // The most values that a search can meet from a unit on.
  int values_below(std::size_t at, int length) {
    if (most_[at] >= 0) return most_[at];
    if (most_[at] == kOpen || length > kLongest) fail();
    most_[at] = kOpen;
    const std::size_t base = next_base(at);
    int most = 0;
    for (std::size_t label = 0; label < 256; ++label) {
      const std::size_t child = base ^ label;
      if ((word_at(units_, child) & kLabelBits) != label) continue;
      most = std::max(most, values_below(child, length + 1));
    }
    if ((word_at(units_, at) & kHasValue) != 0) {
      const std::size_t text = word_at(units_, base) & 0x7FFFFFFF;
      if (text >= texts_.size()) fail();
      ++most;
    }
    if (most > kMaxValues) fail();
    return most_[at] = most;
  }

  const std::string& name_;
  std::string_view units_;
  std::size_t count_ = 0;
  std::string_view texts_;
  std::vector<int> most_;  // of each unit: values_below
};

constexpr auto kBytes = protozero::pbf_wire_type::length_delimited;

void check_piece(std::string_view message, std::size_t id, const std::string& name) {
  MessageReader field(message, name);
  std::string_view text;
  float score = 0;
  while (field.next()) {
    if (field.is(kPieceText, kBytes)) text = field.bytes();
    else if (field.is(kPieceScore, protozero::pbf_wire_type::fixed32)) score = field.number();
  }
  const bool valid = !text.empty() && text.find('\0') == std::string_view::npos &&
                     data::find_invalid_utf8(text) == std::string_view::npos;
  if (!valid || !std::isfinite(score)) {
    fail_data(name + ": piece " + std::to_string(id) +
              " is damaged: a piece is UTF-8 without NUL, with a score that is a number");
  }
}

void check_normalizer(std::string_view message, const std::string& name) {
  MessageReader field(message, name);
  while (field.next()) {
    if (!field.is(kCharsMap, kBytes)) continue;
    const std::string_view map = field.bytes();
    if (!map.empty()) CharsMap(map, name).check();
  }
}

std::string_view without_seal(std::string_view bytes, const std::string& name) {
  const std::size_t seal = kSeal.size() + kDigest;
  if (bytes.size() < seal || bytes.substr(bytes.size() - seal, kSeal.size()) != kSeal) return bytes;
  const std::string_view model = bytes.substr(0, bytes.size() - seal);
  if (bytes.substr(bytes.size() - kDigest) != checksum(model)) {
    fail_data(name + ": damaged, or changed since it was written: its checksum is of other bytes");
  }
  return model;
}

}  // namespace

std::string sealed(std::string model) {
  const std::string digest = checksum(model);
  return std::move(model) + std::string(kSeal) + digest;
}

SubwordFile check_subword_file(std::string_view bytes, const std::string& name) {
  if (bytes.empty()) fail_data(name + ": the file is empty");
  SubwordFile file{without_seal(bytes, name)};
  bool trainer = false;
  bool normalizer = false;
  MessageReader field(file.model, name);
  while (field.next()) {
    trainer |= field.is(kTrainer, kBytes);
    normalizer |= field.is(kNormalizer, kBytes);
    if (field.is(kPieces, kBytes)) check_piece(field.bytes(), file.pieces++, name);
    else if (field.is(kNormalizer, kBytes) || field.is(kDenormalizer, kBytes))
      check_normalizer(field.bytes(), name);
  }
  if (file.pieces == 0 || !trainer || !normalizer) {
    fail_data(name + ": is not a complete model of SentencePiece: it has " +
              std::to_string(file.pieces) + " pieces" +
              (trainer && normalizer ? "" : ", and no settings of their use") +
              "; the file may be cut short");
  }
  return file;
}

}  // namespace trireme::text
