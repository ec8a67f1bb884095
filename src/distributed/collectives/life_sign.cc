#include "distributed/collectives/life_sign.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

namespace trireme::distributed {
namespace {

constexpr int kPatience = 50;  // ms
constexpr int kKind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

// An address of either family.
struct Endpoint {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  };
  socklen_t size = 0;

  std::uint16_t& port() { return any.sa_family == AF_INET6 ? v6.sin6_port : v4.sin_port; }
};

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

// The interface's IPv4 address; empty if it has none.
std::string ip_of_interface(const std::string& name, int socket) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_addr.sa_family = AF_INET;
  if (::ioctl(socket, SIOCGIFADDR, &request) != 0) return {};
  sockaddr_in address{};
  std::memcpy(&address, &request.ifr_addr, sizeof address);
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return text.data();
}

}  // namespace

LifeSign::LifeSign(const std::string& interface, const std::string& address) {
  std::string ip = address;
  if (!interface.empty()) {
    const int asking = ::socket(AF_INET, kKind, 0);
    ip = ip_of_interface(interface, asking);
    ::close(asking);
  }
  std::optional<Endpoint> endpoint = endpoint_of(ip, 0);
  if (!endpoint) return;
  socket_ = ::socket(endpoint->any.sa_family, kKind, 0);
  if (socket_ < 0) return;
  if (::bind(socket_, &endpoint->any, endpoint->size) == 0 && ::listen(socket_, 128) == 0 &&
      ::getsockname(socket_, &endpoint->any, &endpoint->size) == 0) {
    address_ = fmt::format("{}:{}", ip, ntohs(endpoint->port()));
  }
}

LifeSign::~LifeSign() {
  if (socket_ >= 0) ::close(socket_);
}

void LifeSign::answer() {
  for (int asker = 0; socket_ >= 0 && asker >= 0;) {
    asker = ::accept4(socket_, nullptr, nullptr, kKind & ~SOCK_STREAM);
    if (asker >= 0) ::close(asker);
  }
}

bool is_gone(const std::string& address) {
  const std::size_t colon = std::min(address.rfind(':'), address.size());
  std::uint16_t port = 0;
  const char* const end = address.data() + address.size();
  if (colon == address.size() ||
      std::from_chars(address.data() + colon + 1, end, port).ptr != end || port == 0) {
    return false;
  }
  const std::optional<Endpoint> endpoint = endpoint_of(address.substr(0, colon), port);
  if (!endpoint) return false;
  const int socket = ::socket(endpoint->any.sa_family, kKind, 0);
  if (socket < 0) return false;
  int error = ::connect(socket, &endpoint->any, endpoint->size) == 0 ? 0 : errno;
  pollfd descriptor{socket, POLLOUT, 0};
  if (error == EINPROGRESS && ::poll(&descriptor, 1, kPatience) == 1) {
    socklen_t size = sizeof error;
    ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  ::close(socket);
  return error == ECONNREFUSED;
}

}  // namespace trireme::distributed
