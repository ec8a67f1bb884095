#include "data/records.h"

#include <cstring>

#include "base/checksum.h"
#include "fuzz.h"

// Record files. The first byte says whether the checksum of the header is put right first, so that
// the fuzzer reaches what it guards.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme;
  using namespace trireme::data;
  if (size == 0) return 0;
  return fuzz(data + 1, size - 1, [&](std::string_view bytes) {
    std::string file(bytes);
    if ((data[0] & 1) != 0 && file.size() > kRecordsPrefix) {
      std::uint32_t text = 0;
      std::memcpy(&text, file.data() + 12, sizeof text);
      const std::uint64_t hash = hash64(std::string_view(file).substr(kRecordsPrefix, text));
      std::memcpy(file.data() + 16, &hash, sizeof hash);
    }
    const Dataset dataset = parse_records(Blob::own(std::move(file)), "f");
    for (const auto& [name, tensor] : dataset.rows(0, 1)) {
      if (tensor.dim(0) != 1) __builtin_trap();
    }
  });
}
