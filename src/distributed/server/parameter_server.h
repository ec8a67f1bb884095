#pragma once

// A parameter server: a shard with a FrameServer.

#include <functional>
#include <string>

#include "distributed/server/protocol.h"
#include "distributed/server/shard.h"
#include "distributed/transport/frame_server.h"

namespace trireme::distributed {

struct ParameterServerOptions {
  FrameServerOptions transport = {};
  ShardOptions shard = {};
  // Makes a handler from the shard that gets each frame first; it returns whether it answers the
  // frame. It is called until stop() returns.
  using Other = std::function<bool(const Frame& request, Answer& answer)>;
  std::function<Other(Shard& shard)> other = {};
};

class ParameterServer {
 public:
  // Answers at once, but has no slots until it gets a map. Errors: as FrameServer.
  explicit ParameterServer(const ParameterServerOptions& options)
      : shard_(options.shard),
        other_(options.other ? options.other(shard_) : nullptr),
        server_(transport_of(options), [this](const Peer& peer, Frame request, Answer& answer) {
          check_role(peer.role, static_cast<Op>(request.header.op));
          if (other_ && !shard_.is_broken() && other_(request, answer)) return;
          shard_.handle(peer, std::move(request), answer);
        }) {}

  int port() const { return server_.port(); }
  Shard& shard() { return shard_; }
  TransportStatistics transport() const { return server_.statistics(); }
  void stop(std::chrono::steady_clock::time_point deadline) { server_.stop(deadline); }

 private:
  static FrameServerOptions transport_of(const ParameterServerOptions& options) {
    FrameServerOptions transport = options.transport;
    transport.service = kParameterService;
    return transport;
  }

  Shard shard_;
  const ParameterServerOptions::Other other_;
  FrameServer server_;
};

}  // namespace trireme::distributed
