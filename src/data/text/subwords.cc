// The only file that names SentencePiece.
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <new>

#include "base/error.h"
#include "base/file.h"
#include "base/number_text.h"
#include "data/order.h"
#include "data/text/id_error.h"
#include "data/text/subword_file.h"
#include "data/text/utf8.h"
#include "trireme/text.h"

namespace trireme::text {
namespace {

constexpr const char* kWhere = "subwords: ";
constexpr std::int64_t kSpecialPieces = 3;  // <unk>, <s>, </s>
constexpr std::int64_t kMaxPieceCount = 1'000'000;
constexpr std::size_t kMaxBytes = std::size_t{1}
                                  << 30;    // beyond 2^31 characters it ends the process
constexpr std::size_t kLongestLine = 4192;  // in bytes; it passes over longer ones
constexpr std::string_view kReserved = "\xE2\x96\x85";  // U+2585; it passes over lines with it

using Options = std::unordered_map<std::string, std::string>;

std::int64_t fewest_pieces(const SubwordOptions& options) {
  return kSpecialPieces + (options.bytes ? 256 : 0) + 1;
}

void check_options(const SubwordOptions& options) {
  const std::int64_t fewest = fewest_pieces(options);
  if (options.size < fewest || options.size > kMaxPieceCount) {
    fail_usage(kWhere + std::string("size is ") + std::to_string(options.size) + ", must be " +
               std::to_string(fewest) + " to " + std::to_string(kMaxPieceCount));
  }
  if (!(options.coverage >= 0.98 && options.coverage <= 1)) {
    fail_usage(kWhere + std::string("coverage is ") + float_text(options.coverage) +
               ", must be 0.98 to 1");
  }
  if (options.sample < 0) fail_usage(kWhere + std::string("sample must be at least 0"));
}

Options trainer_options(const SubwordOptions& options) {
  return {{"model_type", options.kind == SubwordKind::bpe ? "bpe" : "unigram"},
          {"vocab_size", std::to_string(options.size)},
          {"character_coverage", float_text(options.coverage)},
          {"byte_fallback", options.bytes ? "true" : "false"},
          {"normalization_rule_name", options.lower_case ? "nmt_nfkc_cf" : "nmt_nfkc"},
          {"hard_vocab_limit", "false"},  // we count the pieces ourselves
          {"num_threads", "16"},          // sums are added by thread, so the model depends on it
          {"max_sentence_length", std::to_string(kLongestLine)},
          {"minloglevel", "3"}};
}

// Where a line is cut that is too long for the trainer: before a space, since no piece reaches over
// one; in a word that is too long, between characters.
std::size_t first_part(std::string_view line) {
  if (line.size() <= kLongestLine) return line.size();
  const std::size_t space = line.rfind(' ', kLongestLine);
  if (space != std::string_view::npos && space > 0) return space;
  std::size_t end = kLongestLine;
  while ((static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  return end;
}

// The lines to learn from. Errors: data.
std::vector<std::string_view> training_lines(const std::vector<std::string>& lines,
                                             const SubwordOptions& options) {
  const auto all = static_cast<std::int64_t>(lines.size());
  std::vector<std::int64_t> rows = data::permutation(all, options.seed, 0);
  if (options.sample > 0 && options.sample < all) {
    rows.resize(static_cast<std::size_t>(options.sample));
  }
  std::sort(rows.begin(), rows.end());
  std::vector<std::string_view> parts;
  std::size_t bytes = 0;
  for (const std::int64_t row : rows) {
    std::string_view line = lines[static_cast<std::size_t>(row)];
    if (const std::size_t wrong = data::find_invalid_utf8(line); wrong != std::string_view::npos) {
      fail_data(kWhere + std::string("line ") + std::to_string(row + 1) + ": byte " +
                std::to_string(wrong + 1) + " is not UTF-8");
    }
    if (line.find(kReserved) != std::string_view::npos) continue;
    bytes += line.size();
    if (bytes > kMaxBytes) {
      fail_usage(kWhere +
                 std::string("more than 1 GiB of text; set `sample` to learn from a part"));
    }
    while (!line.empty()) {
      parts.push_back(line.substr(0, first_part(line)));
      line.remove_prefix(parts.back().size());
    }
  }
  return parts;
}

class LineIterator : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(const std::vector<std::string_view>& lines) : lines_(lines) { read(); }
  bool done() const override { return next_ == lines_.size(); }
  void Next() override {
    ++next_;
    read();
  }
  const std::string& value() const override { return value_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  void read() {
    if (!done()) value_ = lines_[next_];
  }

  const std::vector<std::string_view>& lines_;
  std::size_t next_ = 0;
  std::string value_;
};

// What a status says, without the place in SentencePiece's source and the expression.
std::string reason_of(const sentencepiece::util::Status& status) {
  const std::string message = status.message();
  const std::size_t end = message.rfind("] ");
  return end == std::string::npos ? message : message.substr(end + 2);
}

[[noreturn]] void fail_training(const sentencepiece::util::Status& status,
                                const SubwordOptions& options) {
  const std::string reason = reason_of(status);
  // "Vocabulary size is smaller than required_chars. 10 vs 30. ..."
  const std::size_t versus = reason.find(" vs ");
  if (reason.find("required_chars") != std::string::npos && versus != std::string::npos) {
    const std::size_t number = versus + 4;
    fail_usage(kWhere + std::to_string(options.size) +
               " pieces are too few: the characters of the text and the special pieces need " +
               reason.substr(number, reason.find('.', number) - number) +
               "; ask for more, or for less coverage");
  }
  fail_usage(kWhere + std::string("SentencePiece cannot learn from the text: ") + reason);
}

std::string run_trainer(const std::vector<std::string_view>& lines, const Options& trainer,
                        const SubwordOptions& options) {
  LineIterator iterator(lines);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(trainer, &iterator, &model);
  if (!status.ok()) fail_training(status, options);
  return model;
}

// Returns whether the lines have any character after normalization. Without one, the trainer would
// abort the process. ASCII letters and digits never change; for other text a model of characters,
// which trains on anything, shows it.
bool has_characters(const std::vector<std::string_view>& lines, const SubwordOptions& options) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  for (const std::string_view line : lines) {
    if (std::any_of(line.begin(), line.end(), is_plain)) return true;
  }
  if (lines.empty()) return false;
  Options trainer = trainer_options(options);
  trainer["model_type"] = "char";
  const std::string model = run_trainer(lines, trainer, options);
  return check_subword_file(model, "subwords").pieces >=
         static_cast<std::size_t>(fewest_pieces(options));
}

}  // namespace

struct SubwordModel::Model {
  std::string file;  // as SentencePiece reads it
  sentencepiece::SentencePieceProcessor processor;
};

SubwordModel SubwordModel::train(const std::vector<std::string>& lines,
                                 const SubwordOptions& options) {
  check_options(options);
  const std::vector<std::string_view> parts = training_lines(lines, options);
  if (!has_characters(parts, options)) {
    fail_data(kWhere + std::string("no text to learn from: ") + std::to_string(lines.size()) +
              " lines, without a character that is not white space");
  }
  const std::string file = run_trainer(parts, trainer_options(options), options);
  SubwordModel model = parse(file, "subwords");
  if (model.size() < options.size && !options.fewer) {
    fail_usage(kWhere + std::to_string(options.size) + " pieces are more than the text yields, " +
               std::to_string(model.size()) + "; ask for fewer, give more text, or set `fewer`");
  }
  return model;
}

SubwordModel SubwordModel::parse(std::string_view bytes, const std::string& name) {
  auto model = std::make_shared<Model>();
  model->file = check_subword_file(bytes, name).model;
  sentencepiece::util::Status status;
  try {
    status = model->processor.LoadFromSerializedProto(model->file);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    fail_data(name + ": SentencePiece refuses the model: " + error.what());
  }
  if (!status.ok()) fail_data(name + ": SentencePiece refuses the model: " + reason_of(status));
  return SubwordModel(std::move(model));
}

SubwordModel SubwordModel::load(const std::string& path) { return parse(read_file(path), path); }

void SubwordModel::save(const std::string& path) const {
  write_file_atomically(path, sealed(model_->file));
}

std::int64_t SubwordModel::size() const { return model_->processor.GetPieceSize(); }

std::vector<std::int64_t> SubwordModel::encode(std::string_view text) const {
  data::check_utf8(text, "the text");
  std::vector<int> ids;
  const auto status = model_->processor.Encode(text, &ids);
  if (!status.ok()) fail_data(kWhere + std::string("the text has no pieces: ") + reason_of(status));
  return {ids.begin(), ids.end()};
}

std::vector<std::string> SubwordModel::pieces(std::string_view text) const {
  data::check_utf8(text, "the text");
  std::vector<std::string> pieces;
  const auto status = model_->processor.Encode(text, &pieces);
  if (!status.ok()) fail_data(kWhere + std::string("the text has no pieces: ") + reason_of(status));
  return pieces;
}

std::string SubwordModel::decode(std::span<const std::int64_t> ids) const {
  std::vector<int> known;
  known.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= size()) {
      fail_id(ids[i], size(), "the pieces' ids", static_cast<std::int64_t>(i));
    }
    known.push_back(static_cast<int>(ids[i]));
  }
  std::string text;
  const auto status = model_->processor.Decode(known, &text);
  if (!status.ok()) fail_data(kWhere + std::string("the ids have no text: ") + reason_of(status));
  return text;
}

std::string SubwordModel::piece(std::int64_t id) const {
  if (id < 0 || id >= size()) fail_id(id, size(), "the pieces' ids");
  return model_->processor.IdToPiece(static_cast<int>(id));
}

std::int64_t SubwordModel::id(std::string_view piece) const {
  return model_->processor.PieceToId(piece);
}

std::int64_t SubwordModel::unknown_id() const { return model_->processor.unk_id(); }
std::int64_t SubwordModel::begin_id() const { return model_->processor.bos_id(); }
std::int64_t SubwordModel::end_id() const { return model_->processor.eos_id(); }

}  // namespace trireme::text
