#pragma once

// TCP addresses of this machine, and listening sockets.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace trireme::distributed {

// An address of either family, with a port.
struct Endpoint {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  };
  socklen_t size = 0;

  std::uint16_t& port() { return any.sa_family == AF_INET6 ? v6.sin6_port : v4.sin_port; }
};

// Parses "10.0.0.1:4242" or "::1:4242"; returns nothing if it is no address with a port.
std::optional<Endpoint> parse_endpoint(const std::string& text);

// Sockets do not block, and child processes do not inherit them.
inline constexpr int kSocketKind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

// A listening port of this machine. It listens as long as the object exists.
class Listener {
 public:
  // Listens at the interface of that name or, without a name, at the IP address. If that fails, its
  // address is "-"; this is no error.
  Listener(const std::string& interface, const std::string& address);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int socket() const { return socket_; }  // -1 if it does not listen
  const std::string& address() const { return address_; }
  // Returns the socket of the next connection, of kind kSocketKind; -1 if there is none.
  int accept();

 private:
  int socket_ = -1;
  std::string address_ = "-";
};

}  // namespace trireme::distributed
