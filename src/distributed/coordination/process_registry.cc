#include "distributed/coordination/process_registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "base/error.h"
#include "distributed/coordination/message.h"

namespace trireme::distributed {
namespace {

const std::string& checked(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) {
    fail_usage(
        fmt::format("\"{}\" is no name of a role or a process: no '/', and not empty", name));
  }
  return name;
}

std::string process_key(const std::string& prefix, const std::string& role,
                        const std::string& name) {
  return process_prefix(prefix, role) + checked(name);
}

std::string place_prefix(const std::string& prefix, const std::string& role) {
  return prefix + "place/" + checked(role) + "/";
}

ProcessEntry process_in(const Entry& entry) {
  ProcessEntry process = process_of(entry.key, entry.value);
  process.joined = entry.created;
  return process;
}

// Where a process is, for people.
std::string where(const ProcessEntry& process) {
  if (!process.address.empty()) return process.address;
  return fmt::format("process {} of {}", process.pid, process.host);
}

int rank_of(const std::string& role) {
  constexpr const char* kRoles[] = {"master", "server", "trainer"};
  return static_cast<int>(std::find(std::begin(kRoles), std::end(kRoles), role) -
                          std::begin(kRoles));
}

}  // namespace

std::string text_of(const ProcessEntry& entry) { return encode(entry); }

ProcessEntry process_of(const std::string& key, const std::string& text) {
  return decode<ProcessEntry>(text, fmt::format("the key {} with the value \"{}\"", key, text));
}

std::string process_prefix(const std::string& prefix, const std::string& role) {
  return prefix + "process/" + checked(role) + "/";
}

std::string place_key(const std::string& prefix, const std::string& role, int place) {
  return place_prefix(prefix, role) + std::to_string(place);
}

void ProcessRegistry::join(const ProcessEntry& process, const LeaseKeeper& lease) {
  const std::string own = process_key(prefix_, process.role, process.name);
  const Put put{own, text_of(process), lease.id()};
  for (;;) {
    const Outcome outcome =
        store_.commit({.when = {absent(own)}, .then = {put}, .otherwise = {Get{own}}});
    if (outcome.succeeded) return;
    if (outcome.got.at(0).empty()) continue;
    const Entry& entry = outcome.got[0][0];
    if (entry.lease != lease.id()) {
      fail_usage(fmt::format("another {} is called {} already, at {}", process.role, process.name,
                             where(process_of(entry.key, entry.value))));
    }
    if (entry.value == put.value) return;
    if (store_.commit({.when = {unchanged(entry)}, .then = {put}}).succeeded) return;
  }
}

void ProcessRegistry::leave(const std::string& role, const std::string& name,
                            const LeaseKeeper& lease) {
  const std::optional<Entry> entry = store_.get(process_key(prefix_, role, name));
  if (!entry || entry->lease != lease.id()) return;
  ProcessEntry process = process_in(*entry);
  process.active = false;
  store_.commit(
      {.when = {unchanged(*entry)}, .then = {Put{entry->key, text_of(process), lease.id()}}});
}

std::vector<ProcessEntry> ProcessRegistry::list(const std::string& role) {
  std::vector<ProcessEntry> found;
  for (const Entry& entry : store_.list(process_prefix(prefix_, role)).entries) {
    ProcessEntry process = process_in(entry);
    if (process.active) found.push_back(std::move(process));
  }
  std::sort(found.begin(), found.end(),
            [](const ProcessEntry& a, const ProcessEntry& b) { return a.joined < b.joined; });
  return found;
}

std::vector<ProcessEntry> ProcessRegistry::list() {
  std::vector<ProcessEntry> found;
  for (const Entry& entry : store_.list(prefix_ + "process/").entries) {
    found.push_back(process_in(entry));
  }
  // By length, so that trainer_10 follows trainer_9.
  const auto place = [](const ProcessEntry& entry) {
    return std::tuple(rank_of(entry.role), entry.name.size(), std::string_view(entry.name));
  };
  std::sort(found.begin(), found.end(),
            [&](const ProcessEntry& a, const ProcessEntry& b) { return place(a) < place(b); });
  return found;
}

std::optional<int> ProcessRegistry::claim_place(const std::string& role, int first, int end,
                                                const LeaseKeeper& lease, const std::string& name) {
  const std::map<int, Entry> taken = taken_places(role);
  for (const auto& [place, entry] : taken) {
    if (place >= first && place < end && entry.lease == lease.id()) return place;
  }
  for (int place = first; place < end; ++place) {
    if (!taken.contains(place) && claim(role, place, lease, name)) return place;
  }
  return std::nullopt;
}

bool ProcessRegistry::claim(const std::string& role, int place, const LeaseKeeper& lease,
                            const std::string& name) {
  const std::string own = place_key(prefix_, role, place);
  const Outcome outcome = store_.commit(
      {.when = {absent(own)}, .then = {Put{own, name, lease.id()}}, .otherwise = {Get{own}}});
  // An answer may have been lost, so that this is the second attempt.
  return outcome.succeeded || outcome.got.at(0).at(0).lease == lease.id();
}

std::map<int, Entry> ProcessRegistry::taken_places(const std::string& role) {
  const std::string prefix = place_prefix(prefix_, role);
  std::map<int, Entry> taken;
  for (Entry& entry : store_.list(prefix).entries) {
    const char* const end = entry.key.data() + entry.key.size();
    int place = 0;
    const auto [rest, error] = std::from_chars(entry.key.data() + prefix.size(), end, place);
    if (error != std::errc() || rest != end) {
      fail_data("the key " + entry.key + " has no number at its end");
    }
    taken.emplace(place, std::move(entry));
  }
  return taken;
}

std::vector<int> ProcessRegistry::places(const std::string& role) {
  std::vector<int> places;
  for (const auto& [place, entry] : taken_places(role)) places.push_back(place);
  return places;
}

bool ProcessRegistry::all_taken(const std::string& role, int count) {
  int taken = 0;
  for (const int place : places(role)) taken += place >= 0 && place < count ? 1 : 0;
  return taken == count;
}

bool ProcessRegistry::forget(const std::string& role, const std::string& name) {
  std::optional<Entry> found = store_.get(process_key(prefix_, role, name));
  if (!found) {
    for (const Entry& entry : store_.list(place_prefix(prefix_, role)).entries) {
      if (entry.value == name) found = entry;
    }
  }
  if (!found || found->lease == 0) return false;
  store_.revoke(found->lease);
  return true;
}

}  // namespace trireme::distributed
