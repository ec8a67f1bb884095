// F1 of chunks, by the rules of CoNLL's conlleval.

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "data/sequence/splits.h"
#include "trireme/sequence_metrics.h"

namespace trireme {
namespace {

struct Scheme {
  const char* name;
  const char* prefixes;
};

Scheme scheme_of(ChunkScheme scheme) {
  switch (scheme) {
    case ChunkScheme::iob: return {"IOB", "BI"};
    case ChunkScheme::ioe: return {"IOE", "IE"};
    case ChunkScheme::iobes: return {"IOBES", "BIES"};
    case ChunkScheme::plain: return {"plain", ""};
  }
  return {};
}

// "chunk F1: token 5 of the predicted sequence 3"
std::string place_of(const char* side, std::int64_t sequence, std::size_t token) {
  return fmt::format("chunk F1: token {} of the {} sequence {}", token, side, sequence);
}

void check_lengths(std::size_t predicted, std::size_t reference, std::int64_t sequence) {
  if (predicted == reference) return;
  fail_usage(fmt::format("chunk F1: sequence {} has {} predicted tags, but {} right ones", sequence,
                         predicted, reference));
}

double ratio(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

}  // namespace

struct ChunkF1::Chunk {
  int type;
  std::size_t begin, end;

  friend bool operator==(const Chunk&, const Chunk&) = default;
};

double ChunkCounts::precision() const { return ratio(correct, predicted); }
double ChunkCounts::recall() const { return ratio(correct, reference); }
// 2 p r / (p + r), with p and r written out.
double ChunkCounts::f1() const { return ratio(2 * correct, predicted + reference); }

ChunkCounts& ChunkCounts::operator+=(const ChunkCounts& other) {
  correct += other.correct;
  predicted += other.predicted;
  reference += other.reference;
  return *this;
}

ChunkF1::ChunkF1(ChunkOptions options) : options_(std::move(options)) {
  for (std::size_t id = 0; id < options_.tags.size(); ++id) {
    try {
      tags_.push_back(read(options_.tags[id], fmt::format("chunk F1: entry {} of tags", id)));
    } catch (const Error& error) {
      fail_usage(error.what());  // the caller's mistake, not the data's
    }
  }
}

ChunkF1::Tag ChunkF1::read(std::string_view tag, const std::string& place) {
  if (tag == options_.outside) return {};
  if (options_.scheme == ChunkScheme::plain) return {'I', type_number(tag)};
  const Scheme scheme = scheme_of(options_.scheme);
  const std::size_t hyphen = std::min(tag.find('-'), tag.size());
  if (hyphen != 1 || std::string_view(scheme.prefixes).find(tag[0]) == std::string_view::npos) {
    fail_data(
        fmt::format("{} is the tag \"{}\", which is none of the scheme {}: \"{}\", or one of "
                    "{} before \"-\" and a type",
                    place, tag, scheme.name, options_.outside, scheme.prefixes));
  }
  return {tag[0], type_number(tag.substr(std::min(hyphen + 1, tag.size())))};
}

std::vector<ChunkF1::Tag> ChunkF1::read_tags(std::span<const std::string> tags, const char* side) {
  std::vector<Tag> result;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    result.push_back(read(tags[i], place_of(side, sequences_, i)));
  }
  return result;
}

void ChunkF1::read_ids(std::span<const std::int64_t> ids, std::int64_t sequence, const char* side,
                       std::vector<Tag>& to) const {
  if (tags_.empty()) fail_usage("chunk F1: ids need the list of tags: set ChunkOptions::tags");
  const auto count = static_cast<std::int64_t>(tags_.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= count) {
      fail_data(fmt::format("{} is {}, but there are tags 0 to {}", place_of(side, sequence, i),
                            ids[i], count - 1));
    }
    to.push_back(tags_[static_cast<std::size_t>(ids[i])]);
  }
}

int ChunkF1::type_number(std::string_view name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) return static_cast<int>(found - names_.begin());
  names_.emplace_back(name);
  counts_.emplace_back();
  return static_cast<int>(names_.size()) - 1;
}

std::vector<ChunkF1::Chunk> ChunkF1::chunks_of(std::span<const Tag> tags) {
  std::vector<Chunk> chunks;
  Tag before;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const Tag tag = tags[i];
    if (tag.type >= 0) {
      const bool begins = tag.type != before.type || before.prefix == 'E' || before.prefix == 'S' ||
                          tag.prefix == 'B' || tag.prefix == 'S';
      if (begins) chunks.push_back({tag.type, i, i});
      chunks.back().end = i + 1;
    }
    before = tag;
  }
  return chunks;
}

// Chunks of a sequence come in order and do not overlap, so equal ones are found in one pass.
void ChunkF1::count(std::span<const Tag> predicted, std::span<const Tag> reference) {
  const std::vector<Chunk> found = chunks_of(predicted), right = chunks_of(reference);
  const auto counts = [&](const Chunk& chunk) -> ChunkCounts& {
    return counts_[static_cast<std::size_t>(chunk.type)];
  };
  for (const Chunk& chunk : found) ++counts(chunk).predicted;
  auto next = found.begin();
  for (const Chunk& chunk : right) {
    ++counts(chunk).reference;
    while (next != found.end() && next->begin < chunk.begin) ++next;
    if (next != found.end() && *next == chunk) ++counts(chunk).correct;
  }
  ++sequences_;
}

void ChunkF1::update(std::span<const std::string> predicted,
                     std::span<const std::string> reference) {
  check_lengths(predicted.size(), reference.size(), sequences_);
  const std::vector<Tag> found = read_tags(predicted, "predicted");
  count(found, read_tags(reference, "right"));
}

void ChunkF1::update(std::span<const std::int64_t> predicted,
                     std::span<const std::int64_t> reference) {
  check_lengths(predicted.size(), reference.size(), sequences_);
  std::vector<Tag> found, right;
  read_ids(predicted, sequences_, "predicted", found);
  read_ids(reference, sequences_, "right", right);
  count(found, right);
}

void ChunkF1::update(std::span<const std::int64_t> predicted,
                     std::span<const std::int64_t> reference,
                     std::span<const std::int64_t> splits) {
  if (predicted.size() != reference.size()) {
    fail_usage(fmt::format("chunk F1: there are {} predicted tags, but {} right ones",
                           predicted.size(), reference.size()));
  }
  data::check_splits("chunk F1", splits, predicted.size());
  std::vector<Tag> found, right;
  const auto part = [&](std::span<const std::int64_t> ids, std::size_t i) {
    return ids.subspan(static_cast<std::size_t>(splits[i]),
                       static_cast<std::size_t>(splits[i + 1] - splits[i]));
  };
  for (std::size_t i = 0; i + 1 < splits.size(); ++i) {
    const std::int64_t sequence = sequences_ + static_cast<std::int64_t>(i);
    read_ids(part(predicted, i), sequence, "predicted", found);
    read_ids(part(reference, i), sequence, "right", right);
  }
  for (std::size_t i = 0; i + 1 < splits.size(); ++i) {
    const auto begin = static_cast<std::size_t>(splits[i]);
    const std::size_t length = static_cast<std::size_t>(splits[i + 1]) - begin;
    count(std::span(found).subspan(begin, length), std::span(right).subspan(begin, length));
  }
}

std::map<std::string, ChunkCounts> ChunkF1::types() const {
  std::map<std::string, ChunkCounts> types;
  const std::vector<std::string>& out = options_.leave_out;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const bool occurs = counts_[i].predicted + counts_[i].reference > 0;
    if (occurs && std::find(out.begin(), out.end(), names_[i]) == out.end()) {
      types[names_[i]] = counts_[i];
    }
  }
  return types;
}

ChunkCounts ChunkF1::counts() const {
  ChunkCounts sum;
  for (const auto& [type, counts] : types()) sum += counts;
  return sum;
}

double ChunkF1::value() const {
  return sequences_ == 0 ? std::numeric_limits<double>::quiet_NaN() : counts().f1();
}

void ChunkF1::reset() {
  std::fill(counts_.begin(), counts_.end(), ChunkCounts{});
  sequences_ = 0;
}

ChunkCounts chunk_f1(std::span<const std::vector<std::string>> predicted,
                     std::span<const std::vector<std::string>> reference,
                     const ChunkOptions& options) {
  if (predicted.size() != reference.size()) {
    fail_usage(fmt::format("chunk F1: there are {} predicted sequences, but {} right ones",
                           predicted.size(), reference.size()));
  }
  if (predicted.empty()) fail_usage("chunk F1: there are no sequences");
  ChunkF1 all(options);
  for (std::size_t i = 0; i < predicted.size(); ++i) all.update(predicted[i], reference[i]);
  return all.counts();
}

}  // namespace trireme
