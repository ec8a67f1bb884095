#include "distributed/launch/server_view.h"

#include <thread>

#include "base/error.h"

namespace trireme::distributed {

std::string text_of(const ServerView& view) {
  std::string text;
  for (const std::string& address : view.addresses) text += (text.empty() ? "" : " ") + address;
  return text + "\n" + view.map.to_bytes();
}

ServerView server_view_of(const std::string& text) {
  const std::size_t line = text.find('\n');
  if (line == std::string::npos) fail_data("the job's map of servers has no addresses");
  ServerView view;
  view.map = SlotMap::from_bytes(std::string_view(text).substr(line + 1));
  for (std::size_t begin = 0; begin < line;) {
    const std::size_t end = std::min(text.find(' ', begin), line);
    view.addresses.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (static_cast<int>(view.addresses.size()) < view.map.servers()) {
    fail_data("the job's map has " + std::to_string(view.map.servers()) + " servers and " +
              std::to_string(view.addresses.size()) + " addresses");
  }
  return view;
}

ServerView read_server_view(Store& store, const RoleOptions& options, Milliseconds most) {
  const Deadline end = in(most);
  for (;;) {
    if (const std::optional<Entry> entry = store.get(map_key(options))) {
      return server_view_of(entry->value);
    }
    if (std::chrono::steady_clock::now() >= end) {
      throw Unavailable("no master has said which parameter servers there are");
    }
    std::this_thread::sleep_for(Milliseconds(50));
  }
}

}  // namespace trireme::distributed
