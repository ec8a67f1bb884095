#include "session/train/event_file.h"

#include <fmt/core.h>
#include <unistd.h>

#include <bit>
#include <chrono>

#include "base/checksum.h"
#include "base/error.h"

namespace trireme {
namespace {

// Field numbers of tensorboard's event.proto and summary.proto.
constexpr int kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5,
              kEventSessionLog = 7;
constexpr int kSummaryValue = 1, kValueTag = 1, kValueSimple = 2, kSessionLogStatus = 1;
constexpr std::uint64_t kSessionStart = 1;

// Kinds of fields on the wire.
constexpr int kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

template <class Word>
void put_fixed(std::string& to, Word word) {
  for (std::size_t i = 0; i < sizeof word; ++i) to += static_cast<char>(word >> (8 * i) & 0xff);
}

void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>((value & 0x7f) | 0x80);
  to += static_cast<char>(value);
}

void put_key(std::string& to, int field, int kind) {
  put_varint(to, static_cast<std::uint64_t>(field << 3 | kind));
}

void put_number(std::string& to, int field, std::uint64_t value) {
  put_key(to, field, kVarint);
  put_varint(to, value);
}

void put_bytes(std::string& to, int field, std::string_view bytes) {
  put_key(to, field, kBytes);
  put_varint(to, bytes.size());
  to += bytes;
}

std::string event_at(double wall_time, std::int64_t step) {
  std::string event;
  put_key(event, kEventWallTime, kFixed64);
  put_fixed(event, std::bit_cast<std::uint64_t>(wall_time));
  put_number(event, kEventStep, static_cast<std::uint64_t>(step));
  return event;
}

// The format's own disguise, so that a checksum of checksummed data does not come out constant.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return std::rotr(crc, 15) + 0xa282ead8u;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

}  // namespace

EventFile::EventFile(const std::string& directory, std::int64_t first_step) {
  const double time = now();
  path_ =
      fmt::format("{}/events.out.tfevents.{:.6f}.{}.{}", directory, time, host_name(), ::getpid());
  file_.open(path_, std::ios::binary);
  std::string version = event_at(time, 0);
  put_bytes(version, kEventFileVersion, "brain.Event:2");
  write_record(version);
  if (first_step <= 0) return;
  std::string start = event_at(time, first_step), log;
  put_number(log, kSessionLogStatus, kSessionStart);
  put_bytes(start, kEventSessionLog, log);
  write_record(start);
}

void EventFile::add(std::int64_t step, const std::vector<std::pair<std::string, double>>& scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    put_bytes(value, kValueTag, tag);
    put_key(value, kValueSimple, kFixed32);
    put_fixed(value, std::bit_cast<std::uint32_t>(static_cast<float>(number)));
    put_bytes(summary, kSummaryValue, value);
  }
  std::string event = event_at(now(), step);
  put_bytes(event, kEventSummary, summary);
  write_record(event);
}

void EventFile::write_record(std::string_view event) {
  std::string length, record;
  put_fixed(length, std::uint64_t{event.size()});
  record = length;
  put_fixed(record, masked_crc(length));
  record += event;
  put_fixed(record, masked_crc(event));
  file_.write(record.data(), static_cast<std::streamsize>(record.size()));
  file_.flush();
  if (!file_) fail_io("cannot write " + path_ + ": is the disk full?");
}

}  // namespace trireme
