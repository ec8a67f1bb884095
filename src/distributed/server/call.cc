#include "distributed/server/call.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "base/error.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;
constexpr Milliseconds kFirstPause{5}, kLongestPause{200};  // before asking again

}  // namespace

Servers::Servers(Network& network, const ClientOptions& options)
    : network_(network), options_(options) {}

const ServerView& Servers::view() const {
  if (!view_) view_ = options_.view();
  return *view_;
}

void Servers::refresh() {
  try {
    view_ = options_.view();
    ++statistics.maps;
  } catch (const Unavailable&) {
    return;  // the old one may do for a while
  }
  std::erase_if(connections_, [this](const auto& each) {
    return std::find(view().addresses.begin(), view().addresses.end(), each.first) ==
           view().addresses.end();
  });
}

std::shared_ptr<Connection> Servers::connection(int server) {
  if (server < 0 || static_cast<std::size_t>(server) >= view().addresses.size()) {
    throw Unavailable(
        fmt::format("no server has the requested slots in slot map {}", view().map.version()));
  }
  const std::string& address = view().addresses[static_cast<std::size_t>(server)];
  std::shared_ptr<Connection>& connection = connections_[address];
  if (connection == nullptr) {
    connection =
        std::make_shared<Connection>(network_, ConnectionOptions{.address = address,
                                                                 .service = kParameterService,
                                                                 .security = options_.security,
                                                                 .depth = options_.depth});
  }
  return connection;
}

void Servers::declare_tables(int server, Deadline deadline) {
  for (const auto& [number, declaration] : tables) {
    Frame frame;
    frame.header.op = static_cast<std::uint8_t>(Op::declare_table);
    frame.header.table = number;
    frame.payload.append(declaration);
    const Frame answer = connection(server)->ask(std::move(frame), deadline);
    if (answer.header.code == Code::refused) fail_usage(answer.payload.text());
    if (answer.header.code != Code::ok) throw Unavailable(answer.payload.text());
  }
}

Call::Call(Servers& servers, Work work) : servers_(servers), work_(std::move(work)) {
  std::vector<std::uint32_t> all(work_.units);
  std::iota(all.begin(), all.end(), 0u);
  cut(all);
  const ClientOptions& options = servers_.options();
  for (Part& part : parts_) send(part, in(options.deadline));
}

// The units of each server, in parts of limited size.
void Call::cut(std::span<const std::uint32_t> units) {
  version_ = servers_.view().map.version();
  const std::vector<int> places = work_.places(servers_.view());
  const std::size_t max = std::max<std::size_t>(
      1, servers_.options().part_bytes / std::max<std::size_t>(work_.unit_bytes, 1));
  std::map<int, std::size_t> last;  // the server's part that is being filled
  for (const std::uint32_t unit : units) {
    const int server = places[unit];
    const auto found = last.find(server);
    if (found != last.end() &&
        (parts_[found->second].units.size() < max || !work_.may_begin(unit))) {
      parts_[found->second].units.push_back(unit);
      continue;
    }
    last[server] = parts_.size();
    parts_.push_back({.server = server, .units = {unit}});
  }
  for (Part& part : parts_) {
    if (part.frame.header.op == 0) part.frame = work_.build(part.units, count_++);
    part.frame.header.map_version = version_;
  }
}

void Call::send(Part& part, Deadline deadline) {
  ++servers_.statistics.requests;
  try {
    const auto connection = servers_.connection(part.server);
    part.address = connection->address();
    const Deadline space = std::min(deadline, in(servers_.options().attempt));
    part.pending = connection->send(part.frame, deadline, space);
  } catch (const Unavailable& error) {
    last_error_ = error.what();
  }
}

bool Call::collect(Part& part, Deadline patience, Deadline deadline) {
  if (!part.pending) return false;
  if (!part.pending.wait(patience)) {
    last_error_ = fmt::format("{}: no answer in time", part.address);
    return false;
  }
  const Frame answer = part.pending.get();
  switch (answer.header.code) {
    case Code::duplicate: ++servers_.statistics.duplicates; [[fallthrough]];
    case Code::ok: work_.take(part.units, answer); return true;
    case Code::stale:
      throw StaleGeneration(
          fmt::format("{}: the generation or its servers have changed", work_.what));
    case Code::wrong_map: part.misplaced = true; break;
    case Code::undeclared: servers_.declare_tables(part.server, deadline); break;
    case Code::refused: fail_usage(fmt::format("{}: {}", work_.what, answer.payload.text()));
    case Code::failed: fail_io(fmt::format("{}: {}", work_.what, answer.payload.text()));
    case Code::busy:
    case Code::no_space:
    case Code::corrupt: break;
  }
  const std::string why = answer.payload.text();
  last_error_ = fmt::format("{}: {}{}{}", servers_.connection(part.server)->address(),
                            name_of(answer.header.code), why.empty() ? "" : ": ", why);
  return false;
}

void Call::wait(Deadline deadline) {
  Milliseconds pause = kFirstPause;
  while (true) {
    const Deadline attempt = std::min(deadline, Clock::now() + servers_.options().attempt);
    std::erase_if(parts_, [&](Part& part) {
      try {
        return collect(part, attempt, deadline);
      } catch (const Unavailable& error) {
        last_error_ = error.what();
        return false;
      }
    });
    if (parts_.empty()) return;
    if (Clock::now() + pause >= deadline) {
      throw Unavailable(
          fmt::format("{}: {} parts of the call were not answered in time; the last reason: {}",
                      work_.what, parts_.size(), last_error_));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
    servers_.refresh();
    cut_again();
    forget_moved();
    for (Part& part : parts_) {
      if (part.pending) continue;
      ++servers_.statistics.again;
      send(part, deadline);
    }
  }
}

// A server that was replaced answers no more, even if its stream lives.
void Call::forget_moved() {
  const std::vector<std::string>& addresses = servers_.view().addresses;
  for (Part& part : parts_) {
    const auto server = static_cast<std::size_t>(part.server);
    if (part.server < 0 || server >= addresses.size() || addresses[server] != part.address) {
      part.pending = {};
    }
  }
}

// With a new map the parts differ.
void Call::cut_again() {
  const bool misplaced =
      std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.misplaced; });
  for (Part& part : parts_) part.misplaced = false;
  if (servers_.view().map.version() == version_) return;
  if (work_.fixed && misplaced)
    throw StaleGeneration(fmt::format("{}: the slot map has changed", work_.what));
  if (work_.fixed) return;
  std::vector<std::uint32_t> units;
  for (const Part& part : parts_) units.insert(units.end(), part.units.begin(), part.units.end());
  std::sort(units.begin(), units.end());
  parts_.clear();
  cut(units);
}

}  // namespace trireme::distributed
