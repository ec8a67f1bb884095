#include "distributed/master/protocol.h"

#include "base/error.h"

namespace trireme::distributed {
namespace {

void put_text(std::string& to, const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  to.append(reinterpret_cast<const char*>(&size), sizeof size);
  to += text;
}

void put_number(std::string& to, std::int64_t number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
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
    put_text(bytes, task.data);
  }
  frame.header.count = static_cast<std::uint32_t>(owned.tasks.size());
  frame.payload = Payload(std::move(bytes));
}

Owned owned_of(const Frame& frame) {
  if (frame.header.count > kMostTasks) {
    fail_data("a frame of " + std::to_string(frame.header.count) + " tasks: there may be " +
              std::to_string(kMostTasks));
  }
  PayloadReader reader(frame.payload);
  Owned owned;
  owned.owner = reader.text(reader.value<std::uint32_t>());
  if (!is_owner(owned.owner)) fail_data("\"" + owned.owner + "\" is no name of an owner");
  for (std::uint32_t i = 0; i < frame.header.count; ++i) {
    Task task;
    task.id = reader.value<std::int64_t>();
    task.attempt = reader.value<std::int64_t>();
    task.data = reader.text(reader.value<std::uint32_t>());
    owned.tasks.push_back(std::move(task));
  }
  reader.end();
  return owned;
}

}  // namespace trireme::distributed
