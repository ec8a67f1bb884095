#include "keys.h"

#include "distributed/coordination/etcd_store.h"
#include "distributed/coordination/memory_store.h"

namespace trireme::chaos {

using namespace distributed;

Keys::Keys(bool real, const std::string& host, const Security& security) {
  if (real) {
    etcd_.emplace();
    store_ = connect_etcd({.address = etcd_->address()});
    address_ = etcd_->address();
    return;
  }
  store_ = make_memory_store();
  server_.emplace(*store_, EtcdServerOptions{.address = host + ":0", .security = security});
  address_ = host + ":" + std::to_string(server_->port());
}

LeaderWatch::LeaderWatch(Store& store, const std::string& key)
    : election_(store, key), thread_([this] { run(); }) {}

LeaderWatch::~LeaderWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  thread_.join();
}

LeaderWatch::Seen LeaderWatch::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void LeaderWatch::run() {
  for (;;) {
    std::optional<Leader> leader;
    try {
      leader = election_.leader();
    } catch (const Unavailable&) {
    }
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      if (leader && leader->epoch != seen_.epoch) {
        seen_ = {leader->name, leader->epoch, Clock::now()};
      }
    }
    std::this_thread::sleep_for(Milliseconds(20));
  }
}

}  // namespace trireme::chaos
