#include "base/checksum.h"
#include "fuzz.h"
#include "trireme/text.h"

// Vocabulary files; with a first byte that is odd, the checksum is made to fit.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  return fuzz(data + 1, size - 1, [&](std::string_view bytes) {
    std::string text(bytes);
    if ((data[0] & 1) != 0) text += trireme::checksum(text) + "\n";
    const auto vocabulary = trireme::text::Vocabulary::parse(text, "f");
    const auto again = trireme::text::Vocabulary::parse(vocabulary.str(), "f");
    if (again.str() != vocabulary.str()) __builtin_trap();
    if (vocabulary.encode(vocabulary.tokens()).back() != vocabulary.size() - 1) __builtin_trap();
  });
}
