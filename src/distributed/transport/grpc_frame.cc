#include "distributed/transport/grpc_frame.h"

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr std::size_t kSmall = 2048;  // bytes that are cheaper to copy than to share

void release(void* owner) { delete static_cast<std::shared_ptr<const void>*>(owner); }

grpc::Slice share(const Payload::Piece& piece) {
  return grpc::Slice(const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size(), release,
                     new std::shared_ptr<const void>(piece.owner));
}

}  // namespace

grpc::ByteBuffer to_message(const Frame& frame, std::uint32_t sum) {
  const auto header = encode_header(frame.header, frame.payload.size(), sum);
  std::string small(reinterpret_cast<const char*>(header.data()), header.size());
  std::vector<grpc::Slice> slices;
  const auto flush = [&] {
    if (!small.empty()) slices.emplace_back(small);
    small.clear();
  };
  for (const Payload::Piece& piece : frame.payload.pieces()) {
    if (piece.bytes.size() <= kSmall) {
      small.append(reinterpret_cast<const char*>(piece.bytes.data()), piece.bytes.size());
    } else {
      flush();
      slices.push_back(share(piece));
    }
  }
  flush();
  return {slices.data(), slices.size()};
}

Arrived from_message(const grpc::ByteBuffer& message, std::size_t largest) {
  const auto slices = std::make_shared<std::vector<grpc::Slice>>();
  if (!message.Dump(slices.get()).ok()) fail_data("a message that cannot be unpacked");
  Payload bytes;
  for (const grpc::Slice& slice : *slices) {
    bytes.append({reinterpret_cast<const std::byte*>(slice.begin()), slice.size()}, slices);
  }
  return decode_frame(bytes, largest);
}

}  // namespace trireme::distributed
