#include "distributed/collectives/liveness_listener.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace trireme::distributed {
namespace {

constexpr int kHeartbeatTimeoutMs = 50;  // ms

}  // namespace

void LivenessListener::answer() {
  for (int asker = listener_.accept(); asker >= 0; asker = listener_.accept()) ::close(asker);
}

bool is_gone(const std::string& address) {
  const std::optional<Endpoint> endpoint = parse_endpoint(address);
  if (!endpoint) return false;
  const int socket = ::socket(endpoint->any.sa_family, kSocketKind, 0);
  if (socket < 0) return false;
  int error = ::connect(socket, &endpoint->any, endpoint->size) == 0 ? 0 : errno;
  pollfd descriptor{socket, POLLOUT, 0};
  if (error == EINPROGRESS && ::poll(&descriptor, 1, kHeartbeatTimeoutMs) == 1) {
    socklen_t size = sizeof error;
    ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  ::close(socket);
  return error == ECONNREFUSED;
}

}  // namespace trireme::distributed
