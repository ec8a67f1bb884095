#include "session/train/event_file.h"

#include <fmt/core.h>
#include <unistd.h>
#include <protozero/pbf_writer.hpp>

#include <bit>
#include <chrono>

#include "base/checksum.h"
#include "base/error.h"

namespace trireme {
namespace {

// Field numbers of tensorboard's event.proto and summary.proto.
constexpr int kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventGraph = 4,
              kEventSummary = 5, kEventSessionLog = 7;
constexpr int kSummaryValue = 1, kValueTag = 1, kValueSimple = 2, kSessionLogStatus = 1;
constexpr int kSessionStart = 1;

using protozero::pbf_writer;

template <class Word>
void put_fixed(std::string& to, Word word) {
  for (std::size_t i = 0; i < sizeof word; ++i) to += static_cast<char>(word >> (8 * i) & 0xff);
}

std::string event_at(double wall_time, std::int64_t step) {
  std::string event;
  pbf_writer writer(event);
  writer.add_double(kEventWallTime, wall_time);
  writer.add_int64(kEventStep, step);
  return event;
}

// The format rotates and shifts checksums, so that the checksum of data with their own checksum is
// not constant.
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
  pbf_writer(version).add_string(kEventFileVersion, "brain.Event:2");
  write_record(version);
  if (first_step <= 0) return;
  std::string start = event_at(time, first_step), log;
  pbf_writer(log).add_enum(kSessionLogStatus, kSessionStart);
  pbf_writer(start).add_message(kEventSessionLog, log);
  write_record(start);
}

void EventFile::add(std::int64_t step, const std::vector<std::pair<std::string, double>>& scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    pbf_writer writer(value);
    writer.add_string(kValueTag, tag);
    writer.add_float(kValueSimple, static_cast<float>(number));
    pbf_writer(summary).add_message(kSummaryValue, value);
  }
  std::string event = event_at(now(), step);
  pbf_writer(event).add_message(kEventSummary, summary);
  write_record(event);
}

void EventFile::add_value(std::int64_t step, std::string_view value) {
  std::string summary, event = event_at(now(), step);
  pbf_writer(summary).add_message(kSummaryValue, value.data(), value.size());
  pbf_writer(event).add_message(kEventSummary, summary);
  write_record(event);
}

void EventFile::add_graph(std::string_view graph) {
  std::string event = event_at(now(), 0);
  pbf_writer(event).add_bytes(kEventGraph, graph.data(), graph.size());
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
