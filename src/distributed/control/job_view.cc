#include "distributed/control/job_view.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"

namespace trireme::distributed {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Removes the next line and returns it.
std::string take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) fail_data("the view of a job ends too early");
  const std::string line(text.substr(0, end));
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace

bool JobView::operator==(const JobView& other) const { return text_of(*this) == text_of(other); }

std::optional<std::uint32_t> JobView::rank_of(const std::string& name) const {
  const auto found = std::find(members.begin(), members.end(), name);
  if (found == members.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - members.begin());
}

// Four lines, followed by the bytes of the map.
std::string text_of(const JobView& view) {
  return fmt::format("{}\n{}\n{} {} {} {} {} {}\n{}\n", joined(view.servers.addresses),
                     fmt::join(view.instances, " "), view.generation, view.rollbacks, view.step,
                     view.updates, view.ticks, view.ticks_seen, joined(view.members)) +
         view.servers.map.to_bytes();
}

JobView job_view_of(const std::string& text) {
  std::string_view rest = text;
  JobView view;
  view.servers.addresses = words_of(take_line(rest));
  std::istringstream instances(take_line(rest));
  for (std::int64_t instance = 0; instances >> instance;) view.instances.push_back(instance);
  if (!instances.eof() || view.instances.size() != view.servers.addresses.size()) {
    fail_data("the view of a job lacks the instances of its servers");
  }
  std::istringstream numbers(take_line(rest));
  std::string more;
  if (!(numbers >> view.generation >> view.rollbacks >> view.step >> view.updates >> view.ticks >>
        view.ticks_seen) ||
      numbers >> more) {
    fail_data("the view of a job lacks its numbers");
  }
  view.members = words_of(take_line(rest));
  view.servers.map = SlotMap::from_bytes(rest);
  if (static_cast<int>(view.servers.addresses.size()) < view.servers.map.servers()) {
    fail_data(fmt::format("the view of a job has {} servers and {} addresses",
                          view.servers.map.servers(), view.servers.addresses.size()));
  }
  return view;
}

std::optional<JobView> read_job_view(Store& store, const std::string& prefix) {
  const std::optional<Entry> entry = store.get(view_key(prefix));
  if (!entry) return std::nullopt;
  return job_view_of(entry->value);
}

}  // namespace trireme::distributed
