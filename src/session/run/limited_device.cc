#include "session/run/limited_device.h"

#include <fmt/core.h>

#include <cstdlib>
#include <optional>

#include "base/checked.h"
#include "base/error.h"
#include "base/number_text.h"

namespace trireme {
namespace {

[[noreturn]] void fail_limit(std::int64_t limit) {
  fail_io(
      fmt::format("the run needs more memory than its limit of {} bytes\n"
                  "  hint   use a smaller batch, or raise SessionOptions::memory_limit or "
                  "TRIREME_MEMORY_LIMIT",
                  limit));
}

}  // namespace

void* LimitedDevice::allocate(std::size_t bytes) {
  const auto wanted = static_cast<std::int64_t>(bytes);
  if (wanted < 0 || wanted > limit_) fail_limit(limit_);
  if (used_.fetch_add(wanted) > limit_ - wanted) {
    used_ -= wanted;
    fail_limit(limit_);
  }
  try {
    return device_->allocate(bytes);
  } catch (...) {
    used_ -= wanted;
    throw;
  }
}

void LimitedDevice::release(void* memory, std::size_t bytes) {
  if (memory != nullptr) used_ -= static_cast<std::int64_t>(bytes);
  device_->release(memory, bytes);
}

std::int64_t memory_limit(std::int64_t given) {
  if (given < 0) fail_usage(fmt::format("session: memory_limit is {}, below 0", given));
  const char* text = std::getenv("TRIREME_MEMORY_LIMIT");
  if (given > 0 || text == nullptr || *text == '\0') return given;
  const std::optional<std::int64_t> bytes = parse_integer(text);
  if (!bytes || *bytes < 1) {
    fail_usage(
        fmt::format("TRIREME_MEMORY_LIMIT: \"{}\" is no whole number of bytes above 0", text));
  }
  return *bytes;
}

void take_from_limit(std::int64_t limit, std::int64_t& left, DType dtype,
                     const std::vector<std::int64_t>& shape) {
  if (limit == 0) return;
  Checked bytes(static_cast<std::int64_t>(size_of(dtype)));
  for (const std::int64_t size : shape) bytes = bytes * size;
  if (!bytes.valid() || bytes.value() > left) fail_limit(limit);
  left -= bytes.value();
}

}  // namespace trireme
