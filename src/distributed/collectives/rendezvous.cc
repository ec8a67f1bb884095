#include "distributed/collectives/rendezvous.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>

#include "base/checksum.h"
#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr std::int64_t kRendezvousLease = 30;  // seconds: longer than a group takes to form
constexpr std::size_t kRandom = 16;            // bytes
constexpr Milliseconds kCancelPoll{20};        // between two looks at `cancelled`

std::string random_bytes() {
  std::random_device device;
  std::string bytes;
  while (bytes.size() < kRandom) bytes.push_back(static_cast<char>(device() & 0xFF));
  return bytes;
}

}  // namespace

Rendezvous::Rendezvous(Store& store, std::string prefix, Clock::time_point deadline,
                       std::function<bool()> cancelled)
    : store_(store),
      prefix_(std::move(prefix)),
      deadline_(deadline),
      cancelled_(std::move(cancelled)),
      lease_(store.grant(kRendezvousLease)) {}

Rendezvous::~Rendezvous() {
  try {
    store_.revoke(lease_);
  } catch (const Error&) {  // it expires
  }
}

void Rendezvous::publish(const std::string& name, const std::string& value) {
  const std::string with_random = random_bytes() + value;
  store_.put(prefix_ + name, with_random, lease_);
  values_[name] = with_random;
}

void Rendezvous::take(const Entry& entry) {
  if (entry.value.size() < kRandom) {
    fail_data(fmt::format("the key {} was not written by a member of the group", entry.key));
  }
  values_.emplace(entry.key.substr(prefix_.size()), entry.value);
}

void Rendezvous::poll(Milliseconds timeout) {
  if (watch_ == nullptr) {
    const Store::Listing listing = store_.list(prefix_);
    watch_ = store_.watch(prefix_, listing.revision + 1);
    for (const Entry& entry : listing.entries) take(entry);
    return;
  }
  const Events events = watch_->wait(timeout);
  for (const Event& event : events.events) {
    if (!event.erased) take(event.entry);
  }
  if (events.compacted) watch_.reset();
}

bool Rendezvous::has(const std::string& name) {
  if (!values_.contains(name)) poll(Milliseconds(0));
  return values_.contains(name);
}

std::string Rendezvous::fetch(const std::string& name) {
  while (!values_.contains(name)) {
    if (cancelled_ && cancelled_()) fail_io("the forming of the group was given up");
    const auto left = std::chrono::duration_cast<Milliseconds>(deadline_ - Clock::now());
    if (left.count() <= 0) {
      fail_io(fmt::format("no member wrote {}{} in time: a member is missing", prefix_, name));
    }
    poll(std::min(left, kCancelPoll));
  }
  return values_.at(name).substr(kRandom);
}

std::string Rendezvous::token() const {
  std::string all;
  for (const auto& [name, value] : values_)
    all += fmt::format("{} {} ", name, value.size()) + value;
  return checksum(all);
}

}  // namespace trireme::distributed
