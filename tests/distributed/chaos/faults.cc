#include "faults.h"

#include <algorithm>
#include <random>

#include "base/error.h"

namespace trireme::chaos {

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::kill_trainer: return "kill trainer";
    case Fault::kill_server: return "kill server";
    case Fault::kill_master: return "kill master";
    case Fault::kill_trainers: return "kill all trainers";
    case Fault::kill_chief: return "kill chief";
    case Fault::stop_trainer: return "stop trainer";
    case Fault::stop_server: return "stop server";
    case Fault::stop_master: return "stop master";
    case Fault::slow_link: return "slow link";
    case Fault::narrow_link: return "narrow link";
    case Fault::cut_link: return "cut link";
    case Fault::silent_link: return "silent link";
    case Fault::flip: return "flip checkpoint";
    case Fault::tear: return "tear checkpoint";
    case Fault::full_disk: return "full disk";
    case Fault::clock: return "clock jump";
    case Fault::etcd_restart: return "restart etcd";
    case Fault::stop_store: return "stop store";
    case Fault::unauthenticated_peers: return "unauthenticated peers";
    case Fault::scale_trainers: return "scale trainers";
    case Fault::scale_servers: return "scale servers";
    case Fault::partition: return "partition";
    case Fault::loss: return "lost packets";
    case Fault::narrow_wire: return "narrow wire";
  }
  return "";
}

Fault fault_of(const std::string& name) {
  std::string all;
  for (int i = 0; i < kFaults; ++i) {
    if (name == name_of(static_cast<Fault>(i))) return static_cast<Fault>(i);
    all += std::string(i > 0 ? ", " : "") + name_of(static_cast<Fault>(i));
  }
  fail_usage("there is no fault \"" + name + "\"\n  hint   " + all);
}

int other_number(int now, int max, double amount) {
  const int number = 1 + std::min(static_cast<int>(amount * (max - 1)), max - 2);
  return number < now ? number : number + 1;
}

std::vector<Event> events_of(std::uint64_t seed, double seconds, double pause,
                             const std::vector<Fault>& faults) {
  std::mt19937_64 random(seed);
  // Standard distributions differ between libraries; these do not.
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  std::vector<Event> events;
  if (faults.empty()) return events;
  for (double at = 2; at < seconds - 2; at += uniform(0.3 * pause, 1.7 * pause)) {
    Event event;
    event.at = at;
    event.fault = faults[random() % faults.size()];
    event.which = static_cast<std::uint32_t>(random());
    event.lasts = uniform(0.2, 8);
    event.amount = uniform(0, 1);
    events.push_back(event);
  }
  return events;
}

}  // namespace trireme::chaos
