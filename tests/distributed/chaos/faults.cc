#include "faults.h"

#include <random>

namespace trireme::chaos {

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::kill_trainer: return "kill trainer";
    case Fault::kill_server: return "kill server";
    case Fault::kill_master: return "kill master";
    case Fault::stop_trainer: return "stop trainer";
    case Fault::stop_server: return "stop server";
    case Fault::stop_master: return "stop master";
    case Fault::damage: return "damage checkpoint";
    case Fault::etcd_restart: return "restart etcd";
  }
  return "";
}

std::vector<Event> events_of(std::uint64_t seed, double seconds, double pause, bool etcd) {
  std::mt19937_64 random(seed);
  // Standard distributions differ between libraries; these do not.
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  std::vector<Event> events;
  for (double at = 2; at < seconds - 2; at += uniform(0.3 * pause, 1.7 * pause)) {
    Event event;
    event.at = at;
    event.fault = static_cast<Fault>(random() % (etcd ? 8 : 7));
    event.which = static_cast<std::uint32_t>(random());
    event.lasts = uniform(0.2, 8);
    events.push_back(event);
  }
  return events;
}

}  // namespace trireme::chaos
