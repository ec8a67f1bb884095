#pragma once

// Reads requests on many connections with one thread, so that idle and slow ones keep no worker
// from others.

#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace trireme::distributed {

// A request up to the empty line after its header; or as much as arrived in time, before the client
// stopped sending, or within the limit.
struct ArrivedRequest {
  int socket = -1;
  std::string bytes;
  std::chrono::steady_clock::time_point end = {};  // of the time for the request and its answer
};

class RequestReader {
 public:
  struct Options {
    std::size_t connections = 256;  // beyond it, the one that waited longest is closed
    std::size_t largest = 4096;     // bytes of a request
    std::chrono::milliseconds patience{3000};
  };
  // The thread calls `take`, which then owns the socket. Connections on which nothing arrives are
  // closed without a call.
  RequestReader(const Options& options, std::function<void(ArrivedRequest)> take);
  ~RequestReader();  // closes all connections
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Takes over the socket.
  void add(int socket);

 private:
  void run();
  bool wait();
  void read_some(ArrivedRequest& request, bool& complete) const;
  void wake() const;

  const Options options_;
  const std::function<void(ArrivedRequest)> take_;
  int wake_[2] = {-1, -1};  // a pipe
  std::mutex mutex_;
  std::vector<int> added_;
  bool stop_ = false;
  std::list<ArrivedRequest> open_;  // oldest first; of the thread
  std::thread thread_;
};

}  // namespace trireme::distributed
