#include "links.h"

#include "distributed/coordination/testing/etcd_process.h"

namespace trireme::chaos {

namespace {

constexpr const char *kProxies = "127.0.0.2", *kProcesses = "127.0.0.1";

}  // namespace

Links::Ends Links::open(const std::string& role, const std::string& name, const std::string& host) {
  const bool listens = role != "trainer";
  if (!host.empty()) {
    const std::string own = host + ":" + std::to_string(distributed::testing::free_port());
    open_.push_back({name, own, listens ? own : "", {}});
    return {host, open_.back().listens, store_};
  }
  Open opened{name, "", "", {}};
  Ends ends{kProxies, "", ""};
  if (listens) {
    // The same port on two loopback addresses.
    const std::string port = std::to_string(distributed::testing::free_port());
    ends.listens = opened.listens = std::string(kProcesses) + ":" + port;
    opened.address = std::string(kProxies) + ":" + port;
    opened.links.push_back(
        {"all and " + name, std::make_shared<Proxy>(opened.address, ends.listens)});
  }
  opened.store = std::make_shared<Proxy>(std::string(kProxies) + ":0", store_);
  opened.store->set({.silent = silent_});
  opened.links.push_back({name + " and the store", opened.store});
  ends.store = opened.store->address();
  open_.push_back(std::move(opened));
  return ends;
}

void Links::silence_store(bool silent) {
  silent_ = silent;
  for (const Open& open : open_) {
    if (open.store) open.store->set({.silent = silent});
  }
}

void Links::close(const std::string& name) {
  std::erase_if(open_, [&](const Open& open) { return open.name == name; });
}

std::string Links::at(const std::string& address) const {
  for (const Open& open : open_) {
    if (open.address == address) return open.name;
  }
  return "";
}

std::map<std::string, std::string> Links::listening() const {
  std::map<std::string, std::string> all;
  for (const Open& open : open_) {
    if (!open.listens.empty()) all[open.name] = open.listens;
  }
  return all;
}

std::optional<Links::Link> Links::any(std::uint32_t which) const {
  std::vector<Link> all;
  for (const Open& open : open_) all.insert(all.end(), open.links.begin(), open.links.end());
  if (all.empty()) return std::nullopt;
  return all[which % all.size()];
}

}  // namespace trireme::chaos
