#pragma once

// The answering end of streams of frames. One stream for each thread that asks; its requests are
// answered in any order.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "distributed/coordination/security.h"
#include "distributed/transport/frame.h"

namespace trireme::distributed {

struct FrameServerOptions {
  std::string address = "127.0.0.1:0";  // port 0: any that is free
  Security security = {};               // check_security() says what is asked for
  int threads = 2;                      // that run the handler
  int queues = 1;                       // threads that wait for the network
  // What one stream may have under way; what is beyond that is left unread, so that the sender
  // waits.
  int requests = 16;
  std::size_t bytes = 32u << 20;
  int streams = 1024;
  std::size_t largest_frame = kLargestFrame;  // 64 MiB at most
};

// Who asks.
struct Peer {
  std::uint64_t stream = 0;  // counts the server's streams
  std::string address;
  std::string name;  // of its certificate; empty without
};

// The one answer to a request, given by any thread at any time; a second one, and what comes after
// the server or the stream has ended, is dropped. Of an Answer that goes unused, the asker is told
// that the server failed.
class Answer {
 public:
  class Stream;  // the server's
  Answer(std::shared_ptr<Stream> stream, std::uint32_t request, std::size_t bytes)
      : stream_(std::move(stream)), request_(request), bytes_(bytes) {}
  Answer(Answer&&) = default;
  Answer& operator=(Answer&& other) noexcept;
  ~Answer();
  void operator()(Frame frame);
  // The request no longer counts among those that the stream may have under way: of one that waits
  // for others.
  void put_aside();

 private:
  std::shared_ptr<Stream> stream_;
  std::uint32_t request_;
  std::size_t bytes_;
  bool aside_ = false;
};

// Called by several threads at once. It answers, or takes the answer along for later. What it
// throws is the answer: Code::refused for errors of kind usage, data and not_found, Code::failed
// for others, with the text as payload.
using Handler = std::function<void(const Peer& peer, Frame request, Answer& answer)>;

struct TransportStatistics {
  std::uint64_t streams = 0, open = 0;        // all that began, and those of now
  std::uint64_t requests = 0, answers = 0;    // frames in and out
  std::uint64_t bytes_in = 0, bytes_out = 0;  // of these, with headers
  std::uint64_t strangers = 0;                // callers without the token, or beyond `streams`
  std::uint64_t malformed = 0;  // what is no frame, and oversized ones: the stream was ended
  std::uint64_t replayed = 0;   // requests out of their order: the stream was ended
  std::uint64_t corrupt = 0;    // checksums that do not fit: the request was refused
  std::uint64_t broken = 0;     // streams that the other side cut off
  std::uint64_t full = 0;       // how often a stream had all under way that it may have
};

class FrameServer {
 public:
  // Errors: usage, for security that is not enough; io, if the address cannot be had.
  FrameServer(const FrameServerOptions& options, Handler handler);
  // stop(), with a deadline of now.
  ~FrameServer();

  int port() const;
  TransportStatistics statistics() const;
  // Takes no more requests, waits until the deadline for those under way to be answered, and ends
  // all streams. Not to be called by a handler.
  void stop(std::chrono::steady_clock::time_point deadline);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace trireme::distributed
