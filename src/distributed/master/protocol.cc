#include "distributed/master/protocol.h"

#include "base/error.h"

namespace trireme::distributed {
namespace {

void put_text(std::string& to, const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  to.append(reinterpret_cast<const char*>(&size), sizeof size);
  to += text;
}

template <class T>
void put_number(std::string& to, T number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::string owner_of(PayloadReader& reader) {
  std::string owner = reader.text(reader.value<std::uint32_t>());
  if (!is_owner(owner)) fail_data("\"" + owner + "\" is no name of an owner");
  return owner;
}

}  // namespace

bool is_owner(const std::string& name) {
  return !name.empty() && name.size() <= 200 && name != "-" &&
         name.find_first_of(" /") == std::string::npos;
}

void put_owned(Frame& frame, const Owned& owned) {
  std::string bytes;
  put_text(bytes, owned.owner);
  for (const Task& task : owned.tasks) {
    put_number(bytes, task.id);
    put_number(bytes, task.attempt);
    put_number(bytes, task.epoch);
    put_number(bytes, static_cast<std::uint8_t>(task.again));
    put_text(bytes, task.data);
  }
  put_text(bytes, owned.why);
  frame.header.count = static_cast<std::uint32_t>(owned.tasks.size());
  frame.payload = Payload(std::move(bytes));
}

Owned owned_of(const Frame& frame) {
  if (frame.header.count > kMaxTasks) {
    fail_data("a frame of " + std::to_string(frame.header.count) + " tasks: there may be " +
              std::to_string(kMaxTasks));
  }
  PayloadReader reader(frame.payload);
  Owned owned;
  owned.owner = owner_of(reader);
  for (std::uint32_t i = 0; i < frame.header.count; ++i) {
    Task task;
    task.id = reader.value<std::int64_t>();
    task.attempt = reader.value<std::int64_t>();
    task.epoch = reader.value<std::int64_t>();
    task.again = reader.value<std::uint8_t>() != 0;
    task.data = reader.text(reader.value<std::uint32_t>());
    owned.tasks.push_back(std::move(task));
  }
  owned.why = reader.text(reader.value<std::uint32_t>());
  reader.end();
  return owned;
}

void put_pace(Frame& frame, const PaceRequest& request) {
  std::string bytes;
  put_text(bytes, request.name);
  put_number(bytes, request.finished);
  put_number(bytes, request.unfinished);
  put_number(bytes, request.lead);
  frame.header.flags = request.enters ? kEnters : 0;
  frame.payload = Payload(std::move(bytes));
}

PaceRequest pace_request_of(const Frame& frame) {
  PayloadReader reader(frame.payload);
  PaceRequest request;
  request.name = owner_of(reader);
  request.finished = reader.value<std::uint64_t>();
  request.unfinished = reader.value<std::uint32_t>();
  request.lead = reader.value<std::uint32_t>();
  request.enters = (frame.header.flags & kEnters) != 0;
  reader.end();
  if (request.lead == 0 || request.finished > UINT64_MAX / 2) {
    fail_data("steps of " + request.name + " without a lead, or more than there can be");
  }
  return request;
}

void put_pace(Frame& frame, const PaceAnswer& answer) {
  std::string bytes;
  put_number(bytes, answer.finished);
  put_number(bytes, answer.slowest);
  frame.header.flags = answer.go ? kGo : 0;
  frame.payload = Payload(std::move(bytes));
}

PaceAnswer pace_answer_of(const Frame& frame) {
  PayloadReader reader(frame.payload);
  PaceAnswer answer;
  answer.go = (frame.header.flags & kGo) != 0;
  answer.finished = reader.value<std::uint64_t>();
  answer.slowest = reader.value<std::uint64_t>();
  reader.end();
  return answer;
}

}  // namespace trireme::distributed
