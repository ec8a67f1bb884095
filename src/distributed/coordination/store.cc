#include "distributed/coordination/store.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr std::int64_t kPage = 1000;

const std::string& action_key(const Action& action) {
  return std::visit([](const auto& a) -> const std::string& { return a.key; }, action);
}

void check_branch(const std::vector<Action>& actions) {
  if (actions.size() > kMaxActions) {
    fail_usage(fmt::format("a transaction of {} actions, but {} is the most", actions.size(),
                           kMaxActions));
  }
  std::set<std::string> written;
  for (const Action& action : actions) {
    if (action_key(action).empty()) fail_usage("a transaction names the empty key");
    if (const auto* put = std::get_if<Put>(&action)) {
      if (put->key.size() + put->value.size() > kLargestValue) {
        fail_usage(fmt::format("\"{}\" and its value are {} bytes, but {} is the most", put->key,
                               put->key.size() + put->value.size(), kLargestValue));
      }
      if (!written.insert(put->key).second) {
        fail_usage(fmt::format("a transaction writes \"{}\" twice", put->key));
      }
    }
  }
  for (const Action& action : actions) {
    const auto* erase = std::get_if<Erase>(&action);
    if (erase == nullptr) continue;
    const auto hit = [&](const std::string& key) {
      return erase->prefix ? key.starts_with(erase->key) : key == erase->key;
    };
    if (std::any_of(written.begin(), written.end(), hit)) {
      fail_usage(fmt::format("a transaction writes and erases \"{}\"", erase->key));
    }
  }
}

}  // namespace

Condition absent(const std::string& key) { return {key, Condition::Of::created}; }

Condition present(const std::string& key) {
  return {key, Condition::Of::created, Condition::Is::not_equal};
}

Condition unchanged(const Entry& entry) { return unmodified(entry.key, entry.modified); }

Condition unmodified(const std::string& key, std::int64_t revision) {
  return {key, Condition::Of::modified, Condition::Is::equal, {}, revision};
}

Condition is_value(const std::string& key, const std::string& value) {
  return {key, Condition::Of::value, Condition::Is::equal, value};
}

void check(const Transaction& transaction) {
  for (const Condition& condition : transaction.when) {
    if (condition.key.empty()) fail_usage("a condition names the empty key");
  }
  if (transaction.when.size() > kMaxActions) {
    fail_usage(fmt::format("a transaction of {} conditions, but {} is the most",
                           transaction.when.size(), kMaxActions));
  }
  check_branch(transaction.then);
  check_branch(transaction.otherwise);
}

void check_lease(std::int64_t seconds) {
  if (seconds >= 1 && seconds <= 1'000'000) return;
  fail_usage(fmt::format("a lease of {} seconds; choose 1 to 1,000,000", seconds));
}

std::string end_of_prefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::optional<Entry> Store::get(const std::string& key) {
  Outcome outcome = commit({.then = {Get{key}}});
  std::vector<Entry>& got = outcome.got.at(0);
  if (got.empty()) return std::nullopt;
  return std::move(got[0]);
}

Store::Listing Store::list(const std::string& prefix) {
  Listing listing;
  std::string after;
  for (;;) {
    Outcome outcome = commit({.then = {Get{prefix, true, after, kPage}}});
    if (after.empty()) listing.revision = outcome.revision;
    std::vector<Entry>& page = outcome.got.at(0);
    const bool last = page.size() < static_cast<std::size_t>(kPage);
    if (!page.empty()) after = page.back().key;
    listing.entries.insert(listing.entries.end(), std::make_move_iterator(page.begin()),
                           std::make_move_iterator(page.end()));
    if (last) return listing;
  }
}

std::int64_t Store::put(const std::string& key, const std::string& value, std::int64_t lease) {
  return commit({.then = {Put{key, value, lease}}}).revision;
}

bool Store::erase(const std::string& key) {
  return commit({.when = {present(key)}, .then = {Erase{key}}}).succeeded;
}

}  // namespace trireme::distributed
