#pragma once

// Frames as gRPC's messages, and what both ends of a stream share. For the .cc files of this
// folder.

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <optional>

#include "distributed/transport/frame.h"

namespace trireme::distributed {

inline constexpr const char* kMethod = "/trireme.Transport/Frames";

// What a completion queue hands back; called by the queue's thread.
struct Tag {
  std::function<void(bool ok)> done;
};
// What is done may be the end of the tag.
inline void run_tag(void* tag, bool ok) {
  const auto done = static_cast<Tag*>(tag)->done;
  done(ok);
}

// The message shares the payload's memory. `sum` is the checksum of the payload.
grpc::ByteBuffer to_message(const Frame& frame, std::uint32_t sum);
// The frame shares the message's memory. Errors: data, as of decode_frame.
Arrived from_message(const grpc::ByteBuffer& message, std::size_t largest);
// Of both channels and servers.
template <class Arguments>
void set_stream_arguments(Arguments&& set, std::size_t largest) {
  // A message beyond the largest is refused by us, who count it, unless it is far beyond.
  set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, static_cast<int>(largest + (64u << 10)));
  set(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 4 << 20);
  set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 4 << 20);
  set(GRPC_ARG_TCP_READ_CHUNK_SIZE, 256 << 10);
  set(GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE, 64 << 10);
  set(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, 4 << 20);
}

}  // namespace trireme::distributed
