#include "distributed/coordination/membership.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace trireme::distributed {

std::string Membership::key(const char* kind, const std::string& role,
                            const std::string& name) const {
  for (const std::string& part : {role, name}) {
    if (part.empty() || part.find('/') != std::string::npos) {
      fail_usage(
          fmt::format("\"{}\" is no name of a role or a member: no '/', and not empty", part));
    }
  }
  return fmt::format("{}{}/{}/{}", prefix_, kind, role, name);
}

void Membership::join(const std::string& role, const std::string& id, const std::string& address,
                      const LeaseKeeper& lease) {
  const std::string own = key("member", role, id);
  const Put put{own, address, lease.id()};
  for (;;) {
    const Outcome outcome =
        store_.commit({.when = {absent(own)}, .then = {put}, .otherwise = {Get{own}}});
    if (outcome.succeeded) return;
    if (outcome.got.at(0).empty()) continue;
    const Entry& entry = outcome.got[0][0];
    if (entry.lease != lease.id()) {
      fail_usage(fmt::format("another {} is called {} already, at {}", role, id, entry.value));
    }
    if (entry.value == address) return;
    if (store_.commit({.when = {unchanged(entry)}, .then = {put}}).succeeded) return;
  }
}

void Membership::leave(const std::string& role, const std::string& id, const LeaseKeeper& lease) {
  const std::optional<Entry> entry = store_.get(key("member", role, id));
  if (!entry || entry->lease != lease.id()) return;
  store_.commit({.when = {unchanged(*entry)}, .then = {Erase{entry->key}}});
}

std::vector<Member> Membership::members(const std::string& role) {
  std::string prefix = key("member", role, "x");
  prefix.pop_back();
  std::vector<Member> members;
  for (const Entry& entry : store_.list(prefix).entries) {
    members.push_back({entry.key.substr(prefix.size()), entry.value, entry.created});
  }
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.joined < b.joined; });
  return members;
}

std::optional<int> Membership::claim_place(const std::string& role, int first, int end,
                                           const LeaseKeeper& lease, const std::string& name) {
  for (int place = first; place < end; ++place) {
    const std::string own = key("place", role, std::to_string(place));
    const std::optional<Entry> entry = store_.get(own);
    if (entry && entry->lease == lease.id()) return place;
  }
  for (int place = first; place < end; ++place) {
    const std::string own = key("place", role, std::to_string(place));
    if (store_.commit({.when = {absent(own)}, .then = {Put{own, name, lease.id()}}}).succeeded) {
      return place;
    }
  }
  return std::nullopt;
}

bool Membership::all_taken(const std::string& role, int count) {
  for (int place = 0; place < count; ++place) {
    if (!store_.get(key("place", role, std::to_string(place)))) return false;
  }
  return true;
}

bool Membership::claim_again(const std::string& role, int place, const LeaseKeeper& lease,
                             const std::string& name) {
  const std::string own = key("place", role, std::to_string(place));
  const Outcome outcome = store_.commit(
      {.when = {absent(own)}, .then = {Put{own, name, lease.id()}}, .otherwise = {Get{own}}});
  return outcome.succeeded || outcome.got.at(0).at(0).lease == lease.id();
}

bool Membership::forget(const std::string& role, const std::string& name) {
  std::optional<Entry> found = store_.get(key("member", role, name));
  if (!found) {
    std::string places = key("place", role, "x");
    places.pop_back();
    for (const Entry& entry : store_.list(places).entries) {
      if (entry.value == name) found = entry;
    }
  }
  if (!found || found->lease == 0) return false;
  store_.revoke(found->lease);
  return true;
}

}  // namespace trireme::distributed
