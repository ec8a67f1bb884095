#include "tcp.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace trireme::chaos {

namespace {

using Clock = std::chrono::steady_clock;

// Whether the socket is ready before then.
bool wait(int socket, short events, Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd file{socket, events, 0};
  return left > 0 && ::poll(&file, 1, static_cast<int>(left)) > 0;
}

bool send_all(int socket, const std::string& bytes, Clock::time_point until) {
  for (std::size_t at = 0; at < bytes.size();) {
    if (!wait(socket, POLLOUT, until)) return false;
    const ssize_t count = ::send(socket, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (count > 0) at += static_cast<std::size_t>(count);
  }
  ::shutdown(socket, SHUT_WR);
  return true;
}

std::string read_all(int socket, Clock::time_point until) {
  std::string all;
  char part[4096];
  while (wait(socket, POLLIN, until)) {
    const ssize_t count = ::recv(socket, part, sizeof part, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) break;
    if (count > 0) all.append(part, static_cast<std::size_t>(count));
  }
  return all;
}

}  // namespace

std::string tell(const std::string& address, const std::string& bytes,
                 std::chrono::milliseconds timeout) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  if (colon == std::string::npos ||
      ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) != 1) {
    return "";
  }
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  const auto until = Clock::now() + timeout;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return "";
  std::string answer;
  const int failed = ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  if (failed == 0 || (errno == EINPROGRESS && wait(socket, POLLOUT, until))) {
    send_all(socket, bytes, until);
    answer = read_all(socket, until);
  }
  ::close(socket);
  return answer;
}

}  // namespace trireme::chaos
