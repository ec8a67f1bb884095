#include "distributed/transport/frame.h"

#include "fuzz.h"

// A frame in two pieces, cut where the first byte says; what is taken gives the same bytes again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme::distributed;
  return fuzz(data, size, [](std::string_view input) {
    if (input.empty()) return;
    const std::size_t cut = static_cast<unsigned char>(input[0]) % input.size();
    const std::string bytes(input.substr(1));
    Payload payload;
    payload.append(bytes.substr(0, cut));
    payload.append(bytes.substr(cut));
    const Arrived arrived = decode_frame(payload, 1000);
    const Frame& frame = arrived.frame;
    if (!arrived.intact()) return;
    const auto header =
        encode_header(frame.header, frame.payload.size(), checksum_of(frame.payload));
    const std::string again =
        std::string(reinterpret_cast<const char*>(header.data()), header.size()) +
        frame.payload.text();
    if (again != bytes) __builtin_trap();
  });
}
