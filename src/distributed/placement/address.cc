#include "distributed/placement/address.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>
#include <optional>

#include "base/error.h"

namespace trireme::distributed {
namespace {

struct Parts {
  std::string host;
  int port;
};

// With its brackets.
bool is_ipv6(const std::string& host) {
  in6_addr number{};
  return host.size() > 2 && host.front() == '[' && host.back() == ']' &&
         ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &number) == 1;
}

std::optional<Parts> address_parts(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  Parts parts{address.substr(0, colon), 0};
  const char* const end = address.data() + address.size();
  const auto [at, failed] = std::from_chars(address.data() + colon + 1, end, parts.port);
  if (failed != std::errc() || at != end || parts.port < 1 || parts.port > 65535) {
    return std::nullopt;
  }
  const bool brackets = is_ipv6(parts.host);
  if (!brackets && parts.host.find_first_of(":/ \t[]") != std::string::npos) return std::nullopt;
  return parts;
}

Parts checked(const std::string& address, const std::string& what) {
  const std::optional<Parts> parts = address_parts(address);
  if (!parts) fail_usage(fmt::format("{}: HOST:PORT is expected, not \"{}\"", what, address));
  return *parts;
}

using Interfaces = std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)>;

Interfaces interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) fail_io("the network interfaces of this machine are not known");
  return {list, &::freeifaddrs};
}

std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address == nullptr) return "";
  if (address->sa_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text.data(),
                text.size());
    return text.data();
  }
  if (address->sa_family == AF_INET6) {
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text.data(),
                text.size());
    return std::string("[") + text.data() + "]";
  }
  return "";
}

OwnAddress of_interface(const std::string& name) {
  const Interfaces all = interfaces();
  std::string names;
  for (const ifaddrs* each = all.get(); each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    const std::string host = address_text(each->ifa_addr);
    if (each->ifa_name == name) return {host, name, is_loopback(host + ":0")};
    names += (names.empty() ? "" : ", ") + std::string(each->ifa_name) + " (" + host + ")";
  }
  fail_usage(fmt::format("--interface {}: this machine has {}", name, names));
}

}  // namespace

std::string joined_address(const std::string& host, int port) {
  const bool bare = host.find(':') != std::string::npos && host.front() != '[';
  return fmt::format("{}{}{}:{}", bare ? "[" : "", host, bare ? "]" : "", port);
}

std::string host_of(const std::string& address) { return checked(address, "an address").host; }
int port_of(const std::string& address) { return checked(address, "an address").port; }
void check_address(const std::string& address, const std::string& what) { checked(address, what); }

OwnAddress own_address(const std::string& interface, const std::string& bind) {
  if (bind.empty()) return of_interface(interface.empty() ? "lo" : interface);
  if (!interface.empty()) fail_usage("--interface and --bind are two ways to say one thing");
  const bool bare = bind.find(':') != std::string::npos && bind.front() != '[';
  const std::string host = bare ? "[" + bind + "]" : bind;
  const Interfaces all = interfaces();
  for (const ifaddrs* each = all.get(); each != nullptr; each = each->ifa_next) {
    if (address_text(each->ifa_addr) == host) return {host, "", is_loopback(host + ":0")};
  }
  // All of 127.0.0.0/8 is this machine's.
  if (is_loopback(host + ":0") && host != "localhost") return {host, "", true};
  fail_usage(fmt::format("--bind {}: this machine has no such IP address", bind));
}

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

}  // namespace trireme::distributed
