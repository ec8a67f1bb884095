#include "distributed/monitor/request_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/error.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

RequestReader::RequestReader(const Options& options, std::function<void(ArrivedRequest)> take)
    : options_(options), take_(std::move(take)) {
  if (::pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0) fail_io("no pipe for requests of metrics");
  thread_ = std::thread([this] { run(); });
}

RequestReader::~RequestReader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake();
  thread_.join();
  for (const ArrivedRequest& request : open_) ::close(request.socket);
  for (const int socket : added_) ::close(socket);
  for (const int end : wake_) ::close(end);
}

void RequestReader::add(int socket) {
  {
    const std::lock_guard lock(mutex_);
    added_.push_back(socket);
  }
  wake();
}

void RequestReader::wake() const {
  [[maybe_unused]] const ssize_t written = ::write(wake_[1], "", 1);  // a full pipe wakes, too
}

void RequestReader::run() {
  while (wait()) {
    const Clock::time_point now = Clock::now();
    for (auto request = open_.begin(); request != open_.end();) {
      bool complete = now >= request->end;
      read_some(*request, complete);
      if (!complete) {
        ++request;
        continue;
      }
      if (request->bytes.empty()) ::close(request->socket);
      else take_(std::move(*request));
      request = open_.erase(request);
    }
  }
}

// Waits for events and takes over new connections. Returns whether to go on.
bool RequestReader::wait() {
  std::vector<pollfd> files = {{wake_[0], POLLIN, 0}};
  Clock::time_point next = Clock::time_point::max();
  for (const ArrivedRequest& request : open_) {
    files.push_back({request.socket, POLLIN, 0});
    next = std::min(next, request.end);
  }
  int timeout = -1;
  if (!open_.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000));
  }
  ::poll(files.data(), files.size(), timeout);
  std::array<char, 64> ignored{};
  while (::read(wake_[0], ignored.data(), ignored.size()) > 0) {
  }
  const std::lock_guard lock(mutex_);
  for (const int socket : std::exchange(added_, {})) {
    if (open_.size() >= options_.connections) {
      ::close(open_.front().socket);
      open_.pop_front();
    }
    open_.push_back({socket, {}, Clock::now() + options_.patience});
  }
  return !stop_;
}

void RequestReader::read_some(ArrivedRequest& request, bool& complete) const {
  std::array<char, 1024> part{};
  while (request.bytes.size() < options_.largest) {
    const std::size_t max = std::min(part.size(), options_.largest - request.bytes.size());
    const ssize_t count = ::recv(request.socket, part.data(), max, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count <= 0) break;
    request.bytes.append(part.data(), static_cast<std::size_t>(count));
    if (request.bytes.find("\r\n\r\n") != std::string::npos) break;
  }
  complete = true;
}

}  // namespace trireme::distributed
