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

// From 20 kB/s to 2 MB/s, as often below 200 kB/s as above.
double rate_of(const Event& event) { return 20e3 * std::pow(100, event.amount); }

}  // namespace

bool Havoc::happen(const Event& event) {
  // One of a kind at a time, of those of which there is only one to undo.
  if (event.fault >= Fault::full_disk && lasts(event.fault)) return false;
  switch (event.fault) {
    case Fault::kill_trainer: return kill("trainer", event);
    case Fault::kill_server: return kill("server", event);
    case Fault::kill_master: return kill("master", event);
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
    case Fault::partition:
      last(event, event.lasts, [this] { parts_.network.part(false); });
      parts_.network.part(true);
      return true;
    case Fault::loss:
      last(event, event.lasts, [this] { parts_.network.lose(false); });
      parts_.network.lose(true);
      return true;
    case Fault::narrow_wire:
      last(event, event.lasts, [this] { parts_.network.narrow(false, 0); });
      parts_.network.narrow(true, rate_of(event));
      return true;
  }
  return false;
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

void Havoc::look() {
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
}

std::optional<Havoc::Chosen> Havoc::one(const char* role, std::uint32_t which) const {
  const std::map<std::string, pid_t> all = parts_.children.processes(role);
  if (all.empty()) return std::nullopt;
  const auto found = std::next(all.begin(), which % all.size());
  return Chosen{found->first, found->second};
}

bool Havoc::kill(const char* role, const Event& event) {
  const auto chosen = one(role, event.which);
  if (!chosen) return false;
  killed_leader_ = parts_.links.at(parts_.leaders.seen().address) == chosen->name;
  say_("! " + std::string(name_of(event.fault)) + ": " + chosen->name);
  ::kill(chosen->process, SIGKILL);
  return true;
}

bool Havoc::stop(const char* role, const Event& event) {
  const auto chosen = one(role, event.which);
  if (!chosen) return false;
  say_(fmt::format("! {}: {} for {:.1f} s", name_of(event.fault), chosen->name, event.lasts));
  ::kill(chosen->process, SIGSTOP);
  const LeaderWatch::Seen before = parts_.leaders.seen();
  const bool led = parts_.links.at(before.address) == chosen->name;
  last(event, event.lasts, [this, chosen = *chosen, before, led] {
    const auto all = parts_.children.processes("master");
    const bool lives = all.contains(chosen.name) && all.at(chosen.name) == chosen.process;
    if (led && lives && parts_.leaders.seen().epoch != before.epoch) ++two_masters_;
    // By its number: nothing happens if it is gone, as long as nobody else has the number.
    if (!stopped(chosen.process)) ::kill(chosen.process, SIGCONT);
  });
  lasting_.back().stopped = chosen->process;
  return true;
}

bool Havoc::strain(const Event& event) {
  const std::optional<Links::Link> link = parts_.links.any(event.which);
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
  // A day at most, and back: certificates are valid for thirty.
  const double sum = parts_.clock.difference() / kHour + hours;
  const double far = sum > 48 ? -sum : hours;
  parts_.clock.jump(far * kHour);
  say_(fmt::format("! clock jump: {:+.0f} h, which makes {:+.0f} h", far,
                   parts_.clock.difference() / kHour));
}

bool Havoc::restart_etcd(const Event& event) {
  parts_.keys.kill();
  last(event, event.lasts / 2, [this] {
    parts_.keys.restart();
    etcd_back_ = Time::now();
  });
  return true;
}

}  // namespace trireme::chaos
