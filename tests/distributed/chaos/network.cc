#include "network.h"

#include <fmt/core.h>

#include <cstdlib>

#include "base/error.h"

namespace trireme::chaos {

namespace {

constexpr const char* kIp = "/usr/sbin/ip";
constexpr const char* kDrop = "/usr/sbin/iptables -w {} INPUT -i wire {} -j DROP";
constexpr const char* kTwentieth = "-m statistic --mode random --probability 0.05";

void run(const std::string& command) {
  if (std::system(command.c_str()) != 0) fail_io("this did not work: " + command);
}

}  // namespace

Network::Network(std::string other) : other_(std::move(other)) {
  if (!there()) return;
  lose(true);
  lose(false);
  narrow(true, 1e6);
  narrow(false, 0);
}

std::vector<std::string> Network::over_there(const std::vector<std::string>& command) const {
  std::vector<std::string> words = {kIp, "netns", "exec", other_};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

void Network::on_both(const std::string& command) const {
  run(command);
  run(fmt::format("{} netns exec {} {}", kIp, other_, command));
}

void Network::part(bool on) const { on_both(fmt::format(kDrop, on ? "-A" : "-D", "")); }
void Network::lose(bool on) const { on_both(fmt::format(kDrop, on ? "-A" : "-D", kTwentieth)); }

void Network::narrow(bool on, double rate) const {
  if (!on) return on_both("/usr/sbin/tc qdisc del dev wire root");
  on_both(
      fmt::format("/usr/sbin/tc qdisc replace dev wire root tbf rate {:.0f}bit burst 16kb "
                  "latency 200ms",
                  8 * rate));
}

}  // namespace trireme::chaos
