#pragma once

// Frames as messages of gRPC, and the common code of both sides of a stream. For the .cc files of
// this folder.

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <optional>
#include <string>

#include "distributed/transport/frame.h"

namespace trireme::distributed {

// The gRPC method of a service's stream of frames.
inline std::string method_of(const std::string& service) { return "/trireme.Transport/" + service; }

// An event of a completion queue; the thread of the queue calls it.
struct Tag {
  std::function<void(bool ok)> done;
};
// The call may destroy the tag.
inline void run_tag(void* tag, bool ok) {
  const auto done = static_cast<Tag*>(tag)->done;
  done(ok);
}

// The message shares the memory of the payload. `sum` is the checksum of the payload.
grpc::ByteBuffer to_message(const Frame& frame, std::uint32_t sum);
// The frame shares the memory of the message. Errors: data, as decode_frame().
Arrived from_message(const grpc::ByteBuffer& message, std::size_t largest);
// For both channels and servers.
template <class Arguments>
void set_stream_arguments(Arguments&& set, std::size_t largest) {
  // We refuse and count a message above the limit; gRPC refuses one far above it.
  set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, static_cast<int>(largest + (64u << 10)));
  set(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 4 << 20);
  set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 4 << 20);
  set(GRPC_ARG_TCP_READ_CHUNK_SIZE, 256 << 10);
  set(GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE, 64 << 10);
  set(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, 4 << 20);
}

}  // namespace trireme::distributed
