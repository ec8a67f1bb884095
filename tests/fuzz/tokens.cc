#include "fuzz.h"
#include "trireme/text.h"

// Any bytes as text: tokens, a vocabulary of them, ids and back. The first byte chooses how.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme::text;
  if (size == 0) return 0;
  return fuzz(data + 1, size - 1, [&](std::string_view text) {
    TokenOptions options;
    options.kind = static_cast<TokenOptions::Kind>(data[0] & 3);
    options.lower_case = (data[0] & 4) != 0;
    options.grams = 1 + (data[0] >> 3 & 3);
    options.max_tokens = data[0] >> 5;
    options.distinct = !options.lower_case && (data[0] & 16) != 0;
    const std::vector<std::string> all = tokens(text, options);
    if (options.max_tokens > 0 && options.grams == 1 &&
        all.size() > static_cast<std::size_t>(options.max_tokens)) {
      __builtin_trap();
    }
    TokenCounts counts;
    count(all, counts);
    const Vocabulary vocabulary(counts);
    if (vocabulary.decode(vocabulary.encode(all)).size() != all.size()) __builtin_trap();
    const Vocabulary again = Vocabulary::parse(vocabulary.str(), "f");
    if (again.tokens() != vocabulary.tokens()) __builtin_trap();
    if (from_bytes(bytes(text)) != text) __builtin_trap();
  });
}
