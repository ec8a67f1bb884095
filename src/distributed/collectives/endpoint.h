#pragma once

// TCP addresses of this machine, and sockets that listen there.

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

// Of "10.0.0.1:4242" or "::1:4242"; none for what is no address with a port.
std::optional<Endpoint> parse_endpoint(const std::string& text);

// Sockets do not block, and programs that are started do not get them.
inline constexpr int kSocketKind = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

// A port of this machine that listens as long as the object lives.
class Listener {
 public:
  // At the interface, by its name, or else at the IP address. If it cannot listen there, its
  // address is "-": no error.
  Listener(const std::string& interface, const std::string& address);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int socket() const { return socket_; }  // -1 if it does not listen
  const std::string& address() const { return address_; }
  // The next one who has connected, of a kind as above; -1 if nobody has.
  int accept();

 private:
  int socket_ = -1;
  std::string address_ = "-";
};

}  // namespace trireme::distributed
