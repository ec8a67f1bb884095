#include "distributed/server/dense.h"

#include <cstring>

#include "base/error.h"

namespace trireme::distributed {
namespace {

int width_of(std::span<const float> weights) {
  if (weights.empty() || weights.size() > kLargestBlock / sizeof(float)) {
    fail_usage("a block of a dense parameter has 1 float to 15 MiB");
  }
  return static_cast<int>(weights.size());
}

}  // namespace

DenseBlock::DenseBlock(const DenseDeclaration& declaration, std::span<const float> weights,
                       std::size_t max_sources)
    : layout_(width_of(weights), declaration.rule, false),
      rule_(declaration.rule),
      mode_(declaration.mode),
      row_(layout_.bytes()),
      dedup_(max_sources) {
  layout_.write(weights.data(), row_.data());
  layout_.reset_state(row_.data());
}

void DenseBlock::pull(float* weights) const {
  const std::lock_guard lock(mutex_);
  layout_.read(row_.data(), weights);
}

bool DenseBlock::push(const Source& source, std::uint64_t number,
                      const std::function<bool()>& is_over, std::span<const float> gradient,
                      const UpdateStep& step, bool delta) {
  const std::lock_guard lock(mutex_);
  if (number != 0) {
    if (is_over() || dedup_.has(source, number)) return false;
    dedup_.add(source, number);
  }
  if (delta) {
    layout_.add(gradient.data(), row_.data());
  } else {
    layout_.apply(RuleNumbers(rule_, step), row_.data(), gradient.data());
  }
  return true;
}

void DenseBlock::forget(const TasksOver& over) {
  const std::lock_guard lock(mutex_);
  dedup_.forget(over);
}

void DenseBlock::add_begun(const TasksOver& over, std::set<TaskOf>& to) const {
  const std::lock_guard lock(mutex_);
  dedup_.add_begun(over, to);
}

std::uint64_t DenseBlock::dedup_memory() const {
  const std::lock_guard lock(mutex_);
  return dedup_.memory();
}

std::uint64_t DenseBlock::step() const {
  const std::lock_guard lock(mutex_);
  return step_;
}

void DenseBlock::apply_step(std::uint64_t step, std::span<const float> gradient,
                            const UpdateStep& numbers) {
  const std::lock_guard lock(mutex_);
  if (step <= step_) return;
  step_ = step;
  if (!gradient.empty()) layout_.apply(RuleNumbers(rule_, numbers), row_.data(), gradient.data());
}

std::string DenseBlock::read() const {
  const std::lock_guard lock(mutex_);
  const std::vector<DedupEntry> entries = dedup_.read();
  std::string bytes;
  put(bytes, step_);
  put(bytes, static_cast<std::uint32_t>(entries.size()));
  for (const DedupEntry& entry : entries) put(bytes, entry);
  bytes.append(reinterpret_cast<const char*>(row_.data()), row_.size());
  return bytes;
}

void DenseBlock::insert(PayloadReader& reader) {
  const auto step = reader.value<std::uint64_t>();
  std::vector<DedupEntry> scratch;
  const auto entries = reader.values(reader.value<std::uint32_t>(), scratch);
  std::vector<std::byte> bytes;
  const auto row = reader.values(row_.size(), bytes);
  reader.end();
  for (const DedupEntry& entry : entries) {
    if (entry.slot != 0 || entry.kind > 1)
      fail_data("a block of a dense parameter with marks that are none");
  }
  const std::lock_guard lock(mutex_);
  step_ = step;
  dedup_.assign(entries);
  std::memcpy(row_.data(), row.data(), row.size());
}

std::string DenseBlock::content() const {
  const std::lock_guard lock(mutex_);
  return {reinterpret_cast<const char*>(row_.data()), row_.size()};
}

void DenseBlock::set_content(std::string_view bytes) {
  if (bytes.size() != row_.size()) fail_data("a block of a dense parameter of another size");
  const std::lock_guard lock(mutex_);
  std::memcpy(row_.data(), bytes.data(), bytes.size());
  step_ = 0;
  dedup_.assign({});
}

std::size_t DenseBlock::content_bytes(const DenseDeclaration& declaration, std::size_t floats) {
  return RowLayout(static_cast<int>(floats), declaration.rule, false).bytes();
}

}  // namespace trireme::distributed
