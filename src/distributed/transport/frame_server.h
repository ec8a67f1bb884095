#pragma once

// The server side of streams of frames. Each thread of a client has one stream. The server answers
// its requests in any order.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "distributed/coordination/security.h"
#include "distributed/transport/frame.h"

namespace trireme::distributed {

struct FrameServerOptions {
  std::string address = "127.0.0.1:0";    // port 0: any free port
  std::string service = kDefaultService;  // callers of another service are refused
  Security security = {};                 // check_security() has the requirements
  int threads = 0;                        // they run the handler; 0: as many as processors
  int queues = 0;  // threads that wait for network events; 0: one for every four of them
  // Limits of one stream. The server does not read further requests, so that the sender waits.
  int requests = 16;
  std::size_t bytes = 32u << 20;
  std::size_t answer_bytes = 32u << 20;  // of answers that the network has not taken yet
  int streams = 1024;
  std::size_t largest_frame = kLargestFrame;  // 64 MiB at most
};

// The caller.
struct Peer {
  std::uint64_t stream = 0;  // counts the streams of the server
  std::string address;
  std::string name;  // of its certificate; empty without
  std::string role;  // of its certificate: security.h; empty: it may do everything
};

// The answer to a request. Any thread may give it at any time. A second answer is dropped, and so
// is one after the server or the stream has ended. If an Answer is destroyed unused, the caller
// gets the error that the server failed.
class Answer {
 public:
  class Stream;  // of the server
  Answer(std::shared_ptr<Stream> stream, std::uint32_t request, std::size_t bytes)
      : stream_(std::move(stream)), request_(request), bytes_(bytes) {}
  Answer(Answer&&) = default;
  Answer& operator=(Answer&& other) noexcept;
  ~Answer();
  void operator()(Frame frame);
  // Excludes the request from the limits of the stream. For a request that waits for other
  // requests.
  void put_aside();

 private:
  std::shared_ptr<Stream> stream_;
  std::uint32_t request_;
  std::size_t bytes_;
  bool aside_ = false;
};

// Several threads call it at once. It answers, or keeps the Answer for later. If it throws, the
// error is the answer: Code::refused for errors of kind usage, data and not_found, Code::failed for
// others, with the text as payload.
using Handler = std::function<void(const Peer& peer, Frame request, Answer& answer)>;

struct TransportStatistics {
  std::uint64_t streams = 0, open = 0;        // all streams, and the open ones
  std::uint64_t requests = 0, answers = 0;    // frames received and sent
  std::uint64_t bytes_in = 0, bytes_out = 0;  // of these frames, with headers
  std::uint64_t unauthenticated_peers =
      0;  // callers without the token or of another service, or beyond `streams`
  std::uint64_t malformed = 0;  // invalid and oversized frames; each ended the stream
  std::uint64_t replayed = 0;   // requests out of order; each ended the stream
  std::uint64_t corrupt = 0;    // wrong checksums; the request was refused
  std::uint64_t broken = 0;     // streams that the client broke
  std::uint64_t full = 0;       // how often a stream reached its limits
  std::uint64_t waiting = 0;    // bytes of answers that the network has not taken yet
};

class FrameServer {
 public:
  // Errors: usage for insufficient security; io if the address is not available.
  FrameServer(const FrameServerOptions& options, Handler handler);
  // stop(), with a deadline of now.
  ~FrameServer();

  int port() const;
  int threads() const;  // that run the handler
  TransportStatistics statistics() const;
  // Accepts no more requests, waits until the deadline for answers to those in flight, and ends all
  // streams. A handler must not call it.
  void stop(std::chrono::steady_clock::time_point deadline);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace trireme::distributed
