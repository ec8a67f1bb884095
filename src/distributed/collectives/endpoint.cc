#include "distributed/collectives/endpoint.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace trireme::distributed {
namespace {

std::optional<Endpoint> endpoint_of(const std::string& ip, std::uint16_t port) {
  Endpoint endpoint{};
  if (::inet_pton(AF_INET, ip.c_str(), &endpoint.v4.sin_addr) == 1) {
    endpoint.v4.sin_family = AF_INET;
    endpoint.size = sizeof endpoint.v4;
  } else if (::inet_pton(AF_INET6, ip.c_str(), &endpoint.v6.sin6_addr) == 1) {
    endpoint.v6.sin6_family = AF_INET6;
    endpoint.size = sizeof endpoint.v6;
  } else {
    return std::nullopt;
  }
  endpoint.port() = htons(port);
  return endpoint;
}

// Returns the IPv4 address of the interface; empty if it has none.
std::string ip_of_interface(const std::string& name) {
  const int socket = ::socket(AF_INET, kSocketKind, 0);
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_addr.sa_family = AF_INET;
  const bool found = ::ioctl(socket, SIOCGIFADDR, &request) == 0;
  ::close(socket);
  if (!found) return {};
  sockaddr_in address{};
  std::memcpy(&address, &request.ifr_addr, sizeof address);
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return text.data();
}

}  // namespace

std::optional<Endpoint> parse_endpoint(const std::string& text) {
  const std::size_t colon = std::min(text.rfind(':'), text.size());
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  if (colon == text.size() || std::from_chars(text.data() + colon + 1, end, port).ptr != end ||
      port == 0) {
    return std::nullopt;
  }
  return endpoint_of(text.substr(0, colon), port);
}

Listener::Listener(const std::string& interface, const std::string& address) {
  const std::string ip = interface.empty() ? address : ip_of_interface(interface);
  std::optional<Endpoint> endpoint = endpoint_of(ip, 0);
  if (!endpoint) return;
  socket_ = ::socket(endpoint->any.sa_family, kSocketKind, 0);
  if (socket_ < 0) return;
  if (::bind(socket_, &endpoint->any, endpoint->size) == 0 && ::listen(socket_, 128) == 0 &&
      ::getsockname(socket_, &endpoint->any, &endpoint->size) == 0) {
    address_ = fmt::format("{}:{}", ip, ntohs(endpoint->port()));
  }
}

Listener::~Listener() {
  if (socket_ >= 0) ::close(socket_);
}

int Listener::accept() {
  if (socket_ < 0) return -1;
  return ::accept4(socket_, nullptr, nullptr, kSocketKind & ~SOCK_STREAM);
}

}  // namespace trireme::distributed
