#include "distributed/launch/roster.h"

#include <fmt/core.h>

#include <chrono>
#include <map>
#include <thread>

#include "base/error.h"
#include "distributed/coordination/message.h"

namespace trireme::distributed {
namespace {

constexpr const char* kLauncher = "launcher";

// The number at the end of a key.
int rank_in(const std::string& key) {
  const std::string digits = key.substr(key.rfind('/') + 1);
  if (digits.empty() || digits.size() > 6 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    fail_data("the key " + key + " has no rank at its end");
  }
  return std::stoi(digits);
}

}  // namespace

std::string text_of(const LauncherState& state) { return encode(state); }

LauncherState launcher_state_of(const std::string& text) {
  const char* const what = "the state of a launcher";
  LauncherState state = decode<LauncherState>(text, what);
  if (state.phase > LauncherState::Phase::left ||
      static_cast<unsigned>(state.kind) > static_cast<unsigned>(ErrorKind::internal)) {
    fail_data(fmt::format("{} is not valid: {}", what, text));
  }
  return state;
}

Roster::Roster(Store& store, std::string prefix, int rank, std::int64_t lease)
    : store_(store),
      registry_(store, prefix),
      prefix_(std::move(prefix)),
      rank_(rank),
      lease_time_(lease),
      session_(store, lease, [this](const LeaseKeeper& held) { take_place(held); }) {
  tell({});
  earlier_ = static_cast<int>(store_.get(state_key()).value().version) - 1;
}

// A failed predecessor has it until its lease expires. Nothing remains of an own expired lease.
void Roster::take_place(const LeaseKeeper& lease) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(lease_time_ + 2);
  while (!registry_.claim(kLauncher, rank_, lease)) {
    if (begun_ || std::chrono::steady_clock::now() >= until) {
      fail_usage(fmt::format("another launcher has rank {} of this job", rank_));
    }
    std::this_thread::sleep_for(Milliseconds(200));
  }
  begun_ = true;
}

void Roster::join(const ProcessEntry& process) {
  session_.become([this, process](const LeaseKeeper& lease) {
    take_place(lease);
    registry_.join(process, lease);
  });
}

std::string Roster::state_key() const { return fmt::format("{}launcher_state/{}", prefix_, rank_); }

void Roster::tell(const LauncherState& state) { store_.put(state_key(), text_of(state)); }

std::vector<Roster::Other> Roster::others() {
  std::map<int, Other> found;
  for (const Entry& entry : store_.list(prefix_ + "launcher_state/").entries) {
    const int rank = rank_in(entry.key);
    found[rank].state = launcher_state_of(entry.value);
    found[rank].rank = rank;
  }
  for (const int rank : registry_.places(kLauncher)) {
    Other& other = found[rank];
    other.rank = rank;
    other.alive = true;
  }
  found.erase(rank_);
  std::vector<Other> all;
  for (auto& [rank, other] : found) all.push_back(std::move(other));
  return all;
}

std::optional<std::string> Roster::over() {
  const std::optional<Entry> entry = store_.get(prefix_ + "over");
  return entry ? std::optional(entry->value) : std::nullopt;
}

void Roster::set_over(const std::string& how) { store_.put(prefix_ + "over", how); }

}  // namespace trireme::distributed
