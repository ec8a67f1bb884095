#include "havoc.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <cmath>

namespace trireme::chaos {

namespace {

constexpr double kHour = 3600;

std::chrono::steady_clock::duration duration(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

// From 20 kB/s to 2 MB/s, half of them below 200 kB/s.
double rate_of(const Event& event) { return 20e3 * std::pow(100, event.amount); }

}  // namespace

bool Havoc::happen(const Event& event) {
  // Faults that need undoing exclude another one of their kind.
  if (event.fault >= Fault::full_disk && lasts(event.fault)) return false;
  switch (event.fault) {
    case Fault::kill_trainer:
    case Fault::kill_chief: return kill("trainer", event);
    case Fault::kill_server: return kill("server", event);
    case Fault::kill_master: return kill("master", event);
    case Fault::kill_trainers: return kill_all("trainer", event);
    case Fault::stop_trainer: return stop("trainer", event);
    case Fault::stop_server: return stop("server", event);
    case Fault::stop_master: return stop("master", event);
    case Fault::slow_link:
    case Fault::narrow_link:
    case Fault::cut_link:
    case Fault::silent_link: return strain(event);
    case Fault::flip: return damage(Disk::Damage::flip, event);
    case Fault::tear: return damage(Disk::Damage::tear, event);
    case Fault::full_disk:
      last(event, event.lasts, [this] { parts_.disk.empty(); });
      parts_.disk.fill();
      return true;
    case Fault::clock: jump(event); return true;
    case Fault::etcd_restart: return restart_etcd(event);
    case Fault::stop_store:
      if (lasts(Fault::etcd_restart)) return false;
      last(event, 1.5 * event.lasts, [this] { parts_.silence_store(false); });
      parts_.silence_store(true);
      return true;
    case Fault::unauthenticated_peers: return send_unauthenticated_peers(event);
    case Fault::scale_trainers:
    case Fault::scale_servers: return scale(event);
    case Fault::partition:
    case Fault::loss:
    case Fault::narrow_wire: return strain_wire(event);
  }
  return false;
}

bool Havoc::strain_wire(const Event& event) {
  const Network& network = *parts_.network;
  if (event.fault == Fault::partition) {
    last(event, event.lasts, [&network] { network.part(false); });
    network.part(true);
  } else if (event.fault == Fault::loss) {
    last(event, event.lasts, [&network] { network.lose(false); });
    network.lose(true);
  } else {
    last(event, event.lasts, [&network] { network.narrow(false, 0); });
    network.narrow(true, rate_of(event));
  }
  return true;
}

void Havoc::last(const Event& event, double seconds, std::function<void()> undo) {
  if (event.fault >= Fault::full_disk)
    say_(fmt::format("! {} for {:.1f} s", name_of(event.fault), seconds));
  lasting_.push_back({event.fault, Time::now() + duration(seconds), std::move(undo)});
}

bool Havoc::lasts(Fault fault) const {
  return std::any_of(lasting_.begin(), lasting_.end(),
                     [&](const Lasting& one) { return one.fault == fault; });
}

bool Havoc::stopped(pid_t process) const {
  return std::any_of(lasting_.begin(), lasting_.end(),
                     [&](const Lasting& one) { return one.stopped == process; });
}

void Havoc::poll() {
  const auto now = Time::now();
  std::vector<Lasting> over;
  std::erase_if(lasting_, [&](Lasting& one) {
    if (one.until > now) return false;
    over.push_back(std::move(one));
    return true;
  });
  for (const Lasting& one : over) {
    say_(std::string(". ") + name_of(one.fault) + " is over");
    one.undo();
  }
  check_unauthenticated_peers(false);
}

std::optional<Havoc::Chosen> Havoc::one(const char* role, std::uint32_t which) const {
  const std::map<std::string, pid_t> all = parts_.processes(role);
  if (all.empty()) return std::nullopt;
  const auto found = std::next(all.begin(), which % all.size());
  return Chosen{found->first, found->second};
}

bool Havoc::leads(const std::string& name) const {
  return parts_.leaders != nullptr && parts_.links->at(parts_.leaders->seen().address) == name;
}

bool Havoc::kill(const char* role, const Event& event) {
  const auto chosen = one(role, event.which);
  if (!chosen) return false;
  kill(event, *chosen);
  return true;
}

void Havoc::kill(const Event& event, const Chosen& chosen) {
  killed_ = chosen.name;
  killed_leader_ = leads(chosen.name);
  say_("! " + std::string(name_of(event.fault)) + ": " + chosen.name);
  parts_.exits.killed(chosen.name);
  ::kill(chosen.process, SIGKILL);
}

bool Havoc::kill_all(const char* role, const Event& event) {
  const auto all = parts_.processes(role);
  for (const auto& [name, process] : all) kill(event, {name, process});
  return !all.empty();
}

bool Havoc::stop(const char* role, const Event& event) {
  const auto chosen = one(role, event.which);
  if (!chosen) return false;
  say_(fmt::format("! {}: {} for {:.1f} s", name_of(event.fault), chosen->name, event.lasts));
  const bool led = leads(chosen->name);
  const std::int64_t epoch = led ? parts_.leaders->seen().epoch : 0;
  ::kill(chosen->process, SIGSTOP);
  last(event, event.lasts, [this, chosen = *chosen, epoch, led] {
    const auto all = led ? parts_.processes("master") : std::map<std::string, pid_t>();
    const auto found = all.find(chosen.name);
    const bool lives = found != all.end() && found->second == chosen.process;
    if (lives && parts_.leaders->seen().epoch != epoch) ++counts_.two_masters;
    // By its number: nothing happens if it is gone, unless another process has the number.
    if (!stopped(chosen.process)) ::kill(chosen.process, SIGCONT);
  });
  lasting_.back().stopped = chosen->process;
  return true;
}

bool Havoc::strain(const Event& event) {
  const std::optional<Links::Link> link = parts_.links->any(event.which);
  if (!link) return false;
  Wire wire;
  std::string how;
  switch (event.fault) {
    case Fault::slow_link:
      wire.delay = std::chrono::milliseconds(20 + std::llround(180 * event.amount));
      how = fmt::format(", {} ms", wire.delay.count());
      break;
    case Fault::narrow_link:
      wire.rate = rate_of(event);
      how = fmt::format(", {:.0f} kB/s", wire.rate / 1e3);
      break;
    case Fault::cut_link: wire.cut = true; break;
    default: wire.silent = true; break;
  }
  say_(fmt::format("! {}: between {}{} for {:.1f} s", name_of(event.fault), link->name, how,
                   event.lasts));
  link->proxy->set(wire);
  last(event, event.lasts, [proxy = link->proxy] { proxy->set({}); });
  return true;
}

bool Havoc::damage(Disk::Damage how, const Event& event) {
  return parts_.disk.damage_newest(how) && kill("server", event);
}

void Havoc::jump(const Event& event) {
  const double hours = event.amount < 0.4 ? -1 : event.amount < 0.8 ? 1 : 24;
  // At most a day, and back: certificates are valid for thirty days.
  const double sum = parts_.clock.difference() / kHour + hours;
  const double far = sum > 48 ? -sum : hours;
  parts_.clock.jump(far * kHour);
  say_(fmt::format("! clock jump: {:+.0f} h, which makes {:+.0f} h", far,
                   parts_.clock.difference() / kHour));
}

bool Havoc::restart_etcd(const Event& event) {
  if (lasts(Fault::stop_store)) return false;
  parts_.keys->kill();
  last(event, event.lasts / 2, [this] {
    parts_.keys->restart();
    etcd_back_ = Time::now();
  });
  return true;
}

// Not while the store is silent.
bool Havoc::scale(const Event& event) {
  if (lasts(Fault::etcd_restart) || lasts(Fault::stop_store)) return false;
  const std::string said = parts_.scale(event.fault, event.amount);
  if (!said.empty()) say_(std::string("! ") + name_of(event.fault) + ": " + said);
  return !said.empty();
}

bool Havoc::send_unauthenticated_peers(const Event& event) {
  if (unauthenticated_peers_.busy()) return false;
  say_("! unauthenticated peers");
  unauthenticated_peers_.start(parts_.target(event.which), parts_.security(), event.which);
  return true;
}

void Havoc::end_visits() { check_unauthenticated_peers(true); }

void Havoc::check_unauthenticated_peers(bool wait) {
  const std::optional<Visit> visit = unauthenticated_peers_.over(wait);
  if (!visit) return;
  ++counts_.visits;
  counts_.compared += visit->compared ? 1 : 0;
  say_(fmt::format(". unauthenticated peers at {}: {}{}{}", visit->who,
                   visit->compared ? "" : "disturbed by something else; ", visit->text,
                   visit->wrong.empty() ? "" : "; WRONG: " + visit->wrong));
  if (visit->wrong.empty()) return;
  counts_.wrong += (counts_.wrong.empty() ? "" : "; ") + visit->who + ": " + visit->wrong;
}

}  // namespace trireme::chaos
